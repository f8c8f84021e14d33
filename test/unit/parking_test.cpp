#include "relay/parking.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using log::EventId;
using Ids = std::vector<std::int64_t>;

constexpr OrderingKey unordered = std::nullopt;
constexpr OrderingKey key_a = 1;
constexpr OrderingKey key_b = 2;

class ParkingTest : public testing::Test {
  protected:
    static Parking::Event event(std::int64_t id, OrderingKey key = unordered, std::string_view route = "r")
    {
        return {.id = {id}, .key = key, .routing_key = route};
    }

    Ids due(std::size_t most = 1'000)
    {
        Ids ids;
        for (const EventId id : parking_.due(most, now_))
            ids.push_back(id.value);
        return ids;
    }

    // How long until something is due.
    std::chrono::seconds wait() const { return std::chrono::ceil<std::chrono::seconds>(*parking_.next_due() - now_); }

    ParkingRules rules_;
    ParkedChanges changes_;
    Parking parking_{rules_, changes_};
    WallTime now_{1'000'000s};
};

TEST_F(ParkingTest, ARefusedEventWaitsASecondAndTwiceAsLongEachTimeUpToFiveMinutes)
{
    parking_.refused(event(1), "nack", now_);
    for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
        EXPECT_EQ(due(), Ids());
        EXPECT_EQ(wait(), expected);
        now_ += expected;
        EXPECT_EQ(due(), Ids({1}));
        parking_.refused(event(1), "nack", now_);
    }
}

TEST_F(ParkingTest, AProbeWaitsASecondAndTwiceAsLongEachTimeUpToAMinute)
{
    parking_.returned(event(1), "no queue", now_);
    for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        EXPECT_EQ(wait(), expected);
        now_ += expected;
        EXPECT_EQ(due(), Ids({1}));
        parking_.returned(event(1), "no queue", now_);
    }
}

TEST_F(ParkingTest, WhatComesBackWithTheFirstOfItsRoutingKeyMakesTheWaitNoLonger)
{
    for (const std::int64_t id : {1, 2, 3})
        parking_.returned(event(id), "no queue", now_);
    EXPECT_EQ(wait(), 1s);
    now_ += 1s;
    EXPECT_EQ(due().size(), 1U) << "one is tried";
}

TEST_F(ParkingTest, TheHeadsOfARoutingKeyTakeTurnsAsItsProbe)
{
    for (const std::int64_t id : {1, 2, 3})
        parking_.returned(event(id), "no queue", now_);
    for (const std::int64_t expected : {1, 2, 3, 1}) {
        now_ += 60s;
        EXPECT_EQ(due(), Ids({expected}));
        EXPECT_FALSE(parking_.holds_route({expected}, "r")) << "the probe is sent";
        EXPECT_TRUE(parking_.holds_route({4}, "r"));
        parking_.returned(event(expected), "no queue", now_);
    }
}

TEST_F(ParkingTest, WhenAProbeGetsThroughAllHeadsOfItsRoutingKeyAreDue)
{
    parking_.returned(event(1, key_a), "no queue", now_);
    parking_.put_behind(event(2, key_a, "other"), now_);
    parking_.put_behind(event(3, key_b), now_);
    parking_.put_behind(event(4), now_);
    parking_.returned(event(5, unordered, "another"), "no queue", now_);
    now_ += 1s;
    ASSERT_EQ(due(1), Ids({1}));
    parking_.delivered(event(1, key_a), now_);
    EXPECT_EQ(due(3), Ids({2, 3, 4})) << "and the next of the probe's key";
    EXPECT_FALSE(parking_.holds_route({9}, "r"));
    EXPECT_TRUE(parking_.holds_route({9}, "another"));
}

TEST_F(ParkingTest, BehindADeliveryThoseOfItsKeyAreLoadedTogetherAndBehindARefusalOneByOne)
{
    parking_.refused(event(1, key_a), "nack", now_);
    for (const std::int64_t id : {2, 3, 4, 5})
        parking_.put_behind(event(id, key_a), now_);
    now_ += 1s;
    EXPECT_EQ(due(), Ids({1})) << "nobody knows whether it gets through";
    parking_.delivered(event(1, key_a), now_);
    EXPECT_EQ(due(3), Ids({2, 3, 4}));
    EXPECT_TRUE(parking_.holds_key(key_a)) << "5 is not loaded";
    parking_.refused(event(2, key_a), "nack", now_);
    parking_.unload({3}, now_);
    parking_.unload({4}, now_);
    now_ += 1s;
    EXPECT_EQ(due(), Ids({2}));
}

TEST_F(ParkingTest, AKeyThatIsLoadedWholeHoldsNobody)
{
    parking_.refused(event(1, key_a), "nack", now_);
    EXPECT_TRUE(parking_.holds_key(key_a));
    EXPECT_FALSE(parking_.holds_key(key_b));
    EXPECT_FALSE(parking_.holds_key(unordered));
    now_ += 1s;
    due();
    EXPECT_FALSE(parking_.holds_key(key_a));
}

TEST_F(ParkingTest, OnlyRefusalsAreAttempts)
{
    rules_.max_attempts = 2;
    parking_ = Parking(rules_, changes_);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(parking_.returned(event(1), "no queue", now_), Parking::Fate::parked);
    EXPECT_EQ(parking_.refused(event(1), "nack", now_), Parking::Fate::parked);
    EXPECT_EQ(parking_.refused(event(1), "nack", now_), Parking::Fate::dead);
    EXPECT_TRUE(parking_.empty());
    EXPECT_TRUE(changes_.added().at({1}).dead);
    EXPECT_FALSE(changes_.added().at({1}).blocking);
}

TEST_F(ParkingTest, ADeadOneThatBlocksKeepsItsKeyWaitingAndAnUnorderedOneNobody)
{
    rules_.dead_blocks = true;
    parking_ = Parking(rules_, changes_);
    parking_.unfit(event(1, key_a), "too large", now_);
    parking_.unfit(event(2), "too large", now_);
    parking_.put_behind(event(3, key_a), now_);
    now_ += 24h;
    EXPECT_EQ(due(), Ids());
    EXPECT_TRUE(parking_.holds_key(key_a));
    EXPECT_TRUE(changes_.added().at({1}).blocking);
    EXPECT_FALSE(changes_.added().at({2}).blocking);
    parking_.forget({1}, now_);
    EXPECT_EQ(due(), Ids({3}));
}

TEST_F(ParkingTest, WhatIsUnroutableForTooLongIsDeadAndWhatOnlyWaitedIsNot)
{
    parking_.returned(event(1, key_a, "r"), "no queue", now_);
    parking_.put_behind(event(2, key_a, "other"), now_);
    now_ += rules_.unroutable_ttl - 1s;
    EXPECT_EQ(parking_.expire(now_), 0U);
    now_ += 1s;
    EXPECT_EQ(parking_.expire(now_), 1U);
    EXPECT_TRUE(changes_.added().at({1}).dead);
    EXPECT_EQ(due(), Ids({2}));
    EXPECT_EQ(parking_.returned(event(2, key_a, "other"), "no queue", now_), Parking::Fate::parked)
        << "its time begins with its own first return";
}

TEST_F(ParkingTest, ThoseThatWereOvertakenComeLate)
{
    parking_.refused(event(1, key_a), "nack", now_);
    parking_.put_behind(event(3, key_a), now_);
    parking_.overtaken(key_a, {2});
    EXPECT_TRUE(parking_.late({1}));
    EXPECT_FALSE(parking_.late({3}));
    EXPECT_TRUE(changes_.added().at({1}).late);
}

TEST_F(ParkingTest, TheTextsOfChangesAreTheLastOnesGiven)
{
    parking_.refused(event(1), "first", now_);
    parking_.refused(event(1), "second", now_);
    parking_.put_behind(event(1), now_);
    EXPECT_EQ(changes_.added().at({1}).error, "second");
    EXPECT_EQ(changes_.size(), 1U);
}

TEST_F(ParkingTest, ItIsFullWithTheDeadThatBlock)
{
    rules_.max_parked = 2;
    rules_.dead_blocks = true;
    parking_ = Parking(rules_, changes_);
    parking_.refused(event(1), "nack", now_);
    EXPECT_FALSE(parking_.full());
    parking_.unfit(event(2, key_a), "too large", now_);
    EXPECT_TRUE(parking_.full());
}

} // namespace
} // namespace outbox::relay
