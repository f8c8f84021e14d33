#include "transport/in_flight.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace outbox::transport {
namespace {

class InFlightTest : public testing::Test {
  protected:
    void add(const std::string &id, const std::string &routing_key = "key")
    {
        Message &message = messages_.emplace_back();
        message.message_id = id;
        message.routing_key = routing_key;
        in_flight_.add(message, messages_.size(), InFlight::Clock::now(), {});
    }

    std::vector<std::uint64_t> answer(std::uint64_t tag, bool multiple)
    {
        std::vector<std::uint64_t> tokens;
        in_flight_.answer(tag, multiple, [&](const InFlight::Entry &entry) { tokens.push_back(entry.token); });
        return tokens;
    }

    std::uint64_t match(const std::string &id, const std::string &routing_key = "key")
    {
        const InFlight::Entry *entry = in_flight_.match_return(id, routing_key);
        return entry != nullptr ? entry->token : 0;
    }

    using Tokens = std::vector<std::uint64_t>;
    std::deque<Message> messages_;
    InFlight in_flight_;
};

TEST_F(InFlightTest, AnswersComeOneByOneInAnyOrder)
{
    for (const char *id : {"a", "b", "c", "d"})
        add(id);
    EXPECT_EQ(answer(3, false), Tokens({3}));
    EXPECT_EQ(answer(1, false), Tokens({1}));
    EXPECT_EQ(in_flight_.size(), 2U);
    EXPECT_EQ(in_flight_.oldest().token, 2U);
    EXPECT_EQ(in_flight_.span(), 3U);
    EXPECT_EQ(answer(2, false), Tokens({2}));
    EXPECT_EQ(in_flight_.span(), 1U) << "the gap behind it is gone, too";
    EXPECT_EQ(answer(4, false), Tokens({4}));
    EXPECT_TRUE(in_flight_.empty());
}

TEST_F(InFlightTest, AnAnswerForManySkipsThoseAnsweredBefore)
{
    for (const char *id : {"a", "b", "c", "d"})
        add(id);
    EXPECT_EQ(answer(2, false), Tokens({2}));
    EXPECT_EQ(answer(3, true), Tokens({1, 3}));
    EXPECT_EQ(in_flight_.oldest().token, 4U);
}

TEST_F(InFlightTest, ARepeatedAnswerCountsOnce)
{
    for (const char *id : {"a", "b", "c"})
        add(id);
    EXPECT_EQ(answer(2, false), Tokens({2}));
    EXPECT_EQ(answer(2, false), Tokens());
    EXPECT_EQ(answer(1, false), Tokens({1}));
    EXPECT_EQ(answer(1, false), Tokens());
    EXPECT_EQ(answer(2, true), Tokens());
    EXPECT_EQ(in_flight_.size(), 1U);
}

TEST_F(InFlightTest, TagsGoOnWhenAllIsAnswered)
{
    add("a");
    answer(1, true);
    EXPECT_EQ(in_flight_.newest_tag(), 1U);
    add("b");
    EXPECT_EQ(in_flight_.newest_tag(), 2U);
    EXPECT_EQ(answer(2, false), Tokens({2}));
}

TEST_F(InFlightTest, ReturnsMatchTheirMessage)
{
    for (const char *id : {"a", "b", "c"})
        add(id);
    EXPECT_EQ(match("b"), 2U);
    EXPECT_EQ(match("c"), 3U);
    EXPECT_EQ(match("c"), 0U) << "each message comes back once";
}

TEST_F(InFlightTest, OfTwoWithOneIdTheEarlierIsReturnedFirst)
{
    for (const char *id : {"a", "b", "a"})
        add(id);
    EXPECT_EQ(match("a"), 1U);
    EXPECT_EQ(match("a"), 3U);
}

TEST_F(InFlightTest, AReturnNeedsTheRoutingKeyToMatch)
{
    add("a", "routed");
    add("a", "unrouted");
    EXPECT_EQ(match("a", "unrouted"), 2U);
}

TEST_F(InFlightTest, AnAnsweredMessageIsNoMatch)
{
    add("a");
    add("b");
    add("a");
    answer(1, false);
    EXPECT_EQ(match("a"), 3U);
    answer(3, true);
    EXPECT_EQ(match("a"), 0U);
}

} // namespace
} // namespace outbox::transport
