#include "relay/claims.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

constexpr OrderingKey unordered = std::nullopt;
constexpr OrderingKey key_a = 1;
constexpr OrderingKey key_b = 2;

class ClaimsTest : public testing::Test {
  protected:
    void add(std::int64_t id, OrderingKey key = unordered, std::size_t bytes = 10)
    {
        Claim claim;
        claim.id = {id};
        claim.key = key;
        claim.bytes = bytes;
        claims_.add(std::move(claim));
    }

    // Publishes all that is ready, and returns their ids.
    std::vector<std::int64_t> publish_all()
    {
        std::vector<std::int64_t> ids;
        while (const auto seq = claims_.next_ready()) {
            claims_.published(*seq);
            ids.push_back(claims_[*seq].id.value);
        }
        return ids;
    }

    using Ids = std::vector<std::int64_t>;
    Claims claims_{log::EventId{0}};
};

TEST_F(ClaimsTest, OfOneKeySeveralMayBeOutInOneMessageAndComeBackInOrder)
{
    for (const std::int64_t id : {1, 2, 3})
        add(id, key_a);
    const Seq first = *claims_.next_ready();
    claims_.gathered(first);
    EXPECT_TRUE(claims_.gathered_still(first));
    EXPECT_EQ(claims_.next_ready(), std::nullopt);
    const Seq second = *claims_.next_waiting(first);
    claims_.published(first);
    claims_.published(second);
    EXPECT_FALSE(claims_.gathered_still(first));
    EXPECT_EQ(claims_.bytes_in_flight(), 20U);
    EXPECT_EQ(claims_.next_waiting(first), std::nullopt) << "it is out";

    claims_.came_back(first);
    claims_.came_back(second);
    EXPECT_EQ(claims_.bytes_in_flight(), 0U);
    EXPECT_EQ(publish_all(), Ids({1})) << "the second waits for the first again";
    claims_.confirmed(first);
    EXPECT_FALSE(claims_.gathered_still(first)) << "it is not even kept";
    EXPECT_EQ(publish_all(), Ids({2}));
    claims_.confirmed(second);
    EXPECT_EQ(publish_all(), Ids({3}));
}

TEST_F(ClaimsTest, AGatheredOneMayBeSettledAndTheNextOfItsKeyIsReady)
{
    add(1, key_a);
    add(2, key_a);
    const Seq first = *claims_.next_ready();
    claims_.gathered(first);
    claims_.settled(first);
    EXPECT_FALSE(claims_.gathered_still(first));
    EXPECT_EQ(publish_all(), Ids({2}));
}

TEST_F(ClaimsTest, AnEmptyOneHasNothingToSay)
{
    EXPECT_EQ(claims_.next_ready(), std::nullopt);
    EXPECT_EQ(claims_.unsettled(), 0U);
    EXPECT_EQ(claims_.bytes(), 0U);
    EXPECT_EQ(claims_.span(), 0U);
    EXPECT_EQ(claims_.oldest(), nullptr);
    EXPECT_TRUE(claims_.outstanding().empty());
    EXPECT_TRUE(claims_.published_ids().empty());
}

TEST_F(ClaimsTest, UnorderedOnesAreAllReadyInReadingOrder)
{
    for (const std::int64_t id : {10, 30, 20})
        add(id);
    EXPECT_EQ(publish_all(), Ids({10, 30, 20}));
}

TEST_F(ClaimsTest, OfEachKeyOneIsOutAtATime)
{
    add(1, key_a);
    add(2, key_a);
    add(3, key_b);
    add(4, key_a);
    add(5, key_b);
    EXPECT_EQ(publish_all(), Ids({1, 3}));
    claims_.settled(3);
    EXPECT_EQ(publish_all(), Ids({5}));
    claims_.settled(1);
    EXPECT_EQ(publish_all(), Ids({2}));
    claims_.settled(2);
    EXPECT_EQ(publish_all(), Ids({4}));
}

TEST_F(ClaimsTest, AKeyWhoseClaimsAreSettledIsFree)
{
    add(1, key_a);
    publish_all();
    add(2, key_a);
    EXPECT_EQ(publish_all(), Ids());
    claims_.settled(1);
    publish_all();
    claims_.settled(2);
    add(3, key_a);
    EXPECT_EQ(publish_all(), Ids({3}));
}

TEST_F(ClaimsTest, WhatCameBackIsFirstAgainAndStillBlocksItsKey)
{
    add(1, key_a);
    add(2, key_a);
    add(3);
    publish_all();
    add(4);
    claims_.came_back(1);
    EXPECT_EQ(publish_all(), Ids({1, 4}));
}

TEST_F(ClaimsTest, PipelinedOnesOfAKeyAreOutTogetherAndKnowWhenTheyAreOvertaken)
{
    claims_ = Claims(log::EventId{0}, Ordering::pipelined);
    for (const std::int64_t id : {1, 2, 3})
        add(id, key_a);
    EXPECT_EQ(publish_all(), Ids({1, 2, 3}));
    claims_.confirmed(2);
    EXPECT_TRUE(claims_.overtaken(1));
    EXPECT_FALSE(claims_.overtaken(3));
}

TEST_F(ClaimsTest, WhatIsSetAsideTakesWithItWhatIsBehindItAndNotInFlight)
{
    add(1, key_a);
    add(2, key_b);
    add(3, key_a);
    add(4, key_a);
    publish_all();
    EXPECT_EQ(claims_.with_followers(1), std::vector<Seq>({1, 3, 4}));
    EXPECT_EQ(claims_.with_followers(2), std::vector<Seq>({2}));
}

TEST_F(ClaimsTest, ThePositionNeedNotComeBackForParkedOnes)
{
    Claim claim;
    claim.id = {20};
    claim.parked = true;
    add(10);
    claims_.add(std::move(claim));
    claims_.add_settled({25});
    add(30);
    EXPECT_EQ(claims_.outstanding().text(), "{[10,11),[30,31)}");
    EXPECT_EQ(claims_.unsettled(), 3U);
}

TEST_F(ClaimsTest, OnlyWhatWasPublishedBeforeIsARepeat)
{
    add(1);
    EXPECT_FALSE(claims_[1].out_before);
    publish_all();
    claims_.came_back(1);
    EXPECT_TRUE(claims_[1].out_before);
}

TEST_F(ClaimsTest, ItCountsWhatIsUnsettledAndWhatIsInFlight)
{
    add(1, unordered, 100);
    add(2, unordered, 20);
    add(3, unordered, 3);
    EXPECT_EQ(claims_.bytes(), 123U);
    EXPECT_EQ(claims_.bytes_in_flight(), 0U);
    publish_all();
    EXPECT_EQ(claims_.bytes_in_flight(), 123U);
    claims_.settled(2);
    EXPECT_EQ(claims_.unsettled(), 2U);
    EXPECT_EQ(claims_.bytes(), 103U);
    EXPECT_EQ(claims_.bytes_in_flight(), 103U);
    claims_.came_back(1);
    EXPECT_EQ(claims_.unsettled(), 2U);
    EXPECT_EQ(claims_.bytes(), 103U);
    EXPECT_EQ(claims_.bytes_in_flight(), 3U);
}

TEST_F(ClaimsTest, ASettledClaimKeepsItsPlaceButNotItsMessage)
{
    add(1);
    add(2);
    publish_all();
    claims_[2].message.body = "large";
    claims_.settled(2);
    EXPECT_EQ(claims_[2].message.body, "");
    EXPECT_EQ(claims_.span(), 2U);
    EXPECT_EQ(claims_.oldest()->id, log::EventId{1});
    claims_.settled(1);
    EXPECT_EQ(claims_.span(), 0U);
}

TEST_F(ClaimsTest, PublishedIdsAreThoseOfWhatIsOutOrCameBackAndIsNotSettled)
{
    for (const std::int64_t id : {10, 30, 20})
        add(id);
    publish_all();
    add(5);
    claims_.settled(1);
    claims_.came_back(2);
    EXPECT_EQ(claims_.published_ids(), std::vector<log::EventId>({{30}, {20}}));
}

TEST_F(ClaimsTest, OneRangeNamesWhatIsOutstandingTogether)
{
    for (const std::int64_t id : {10, 20, 30, 40})
        add(id);
    publish_all();
    EXPECT_EQ(claims_.outstanding().text(), "{[10,41)}");
    claims_.settled(1);
    EXPECT_EQ(claims_.outstanding().text(), "{[20,41)}");
    claims_.settled(3);
    EXPECT_EQ(claims_.outstanding().text(), "{[20,21),[40,41)}");
}

TEST_F(ClaimsTest, LowerIdsThatAreReadLaterShareNoRangeAcrossWhatWasSettled)
{
    for (const std::int64_t id : {10, 20, 30})
        add(id);
    publish_all();
    claims_.settled(1);
    claims_.settled(2); // 10 and 20 are forgotten
    for (const std::int64_t id : {5, 15, 25, 40})
        add(id);
    EXPECT_EQ(claims_.outstanding().text(), "{[5,6),[15,16),[25,41)}");
}

TEST_F(ClaimsTest, NoRangeSpansIdsThatMayHaveBeenSettledBeforeTheBeginning)
{
    claims_ = Claims(log::EventId{100});
    for (const std::int64_t id : {10, 11, 90, 110, 120})
        add(id);
    EXPECT_EQ(claims_.outstanding().text(), "{[10,12),[90,91),[110,121)}");
}

} // namespace
} // namespace outbox::relay
