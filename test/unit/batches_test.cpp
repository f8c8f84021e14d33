#include "relay/batches.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using Seqs = std::vector<Seq>;

class BatchesTest : public testing::Test {
  protected:
    static Claim claim(const std::string &routing_key = "r", std::size_t bytes = 10)
    {
        Claim claim;
        claim.bytes = bytes;
        claim.message.routing_key = routing_key;
        return claim;
    }
    void gather(Seq seq, const Claim &claim) { batches_.gather(seq, claim, now_); }
    // Of each message that is to go out now, its claims.
    std::vector<Seqs> all()
    {
        std::vector<Seqs> messages;
        while (auto message = batches_.next(now_))
            messages.push_back(std::move(*message));
        return messages;
    }

    Batches::Time now_ = Batches::Time() + 1h;
    Batches batches_{{.events = 3, .bytes = 100, .linger = 50ms}};
};

TEST_F(BatchesTest, AMessageGoesOutOnceItIsFull)
{
    EXPECT_EQ(batches_.due(), std::nullopt);
    for (const Seq seq : {1, 2, 3, 4, 5, 6, 7})
        gather(seq, claim());
    EXPECT_LE(*batches_.due(), now_);
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 2, 3}, {4, 5, 6}}));
    EXPECT_EQ(batches_.due(), now_ + 50ms);
}

TEST_F(BatchesTest, OneThatIsNotFullGoesOutWhenItsFirstEventHasLingered)
{
    gather(1, claim());
    now_ += 30ms;
    gather(2, claim());
    EXPECT_TRUE(all().empty());
    now_ += 20ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 2}}));
    EXPECT_EQ(batches_.due(), std::nullopt);
}

TEST_F(BatchesTest, TheOldestGoesOutFirstAndEachHasOneRoutingKey)
{
    gather(1, claim("a"));
    now_ += 1ms;
    gather(2, claim("b"));
    gather(3, claim("a"));
    now_ += 1ms;
    gather(4, claim("c"));
    EXPECT_EQ(batches_.due(), now_ + 48ms);
    now_ += 49ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 3}, {2}}));
    now_ += 1ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{4}}));
}

TEST_F(BatchesTest, PropertiesAreOnePerMessage)
{
    const auto with = [&](auto &&change) {
        Claim changed = claim();
        change(changed.message);
        return changed;
    };
    const Claim claims[] = {claim(), with([](auto &m) { m.correlation_id = "x"; }),
                            with([](auto &m) { m.expiration = "1"; }), with([](auto &m) { m.priority = 0; }),
                            with([](auto &m) { m.priority = 1; })};
    for (Seq seq = 0; seq < std::size(claims); ++seq)
        gather(seq, claims[seq]);
    now_ += 50ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{0}, {1}, {2}, {3}, {4}}));
    for (const Claim &one : claims)
        for (const Claim &other : claims)
            EXPECT_EQ(share_a_message(one, other), &one == &other);
}

TEST_F(BatchesTest, BodiesTogetherAreNoLargerThanAskedForButOneAlwaysFits)
{
    gather(1, claim("r", 60));
    gather(2, claim("r", 40));
    gather(3, claim("r", 500));
    gather(4, claim("r", 60));
    gather(5, claim("r", 41));
    now_ += 50ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 2}, {3}, {4}, {5}}));
}

TEST_F(BatchesTest, AClaimThatWasInARefusedMessageBringsItsOwnLimit)
{
    Claim split = claim();
    split.at_most = 2;
    gather(1, split);
    gather(2, split);
    gather(3, claim());
    gather(4, claim());
    gather(5, split);
    now_ += 50ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 2}, {3, 4}, {5}}));
    split.at_most = 1;
    gather(6, split);
    gather(7, split);
    EXPECT_EQ(all(), (std::vector<Seqs>{{6}, {7}}));
}

TEST_F(BatchesTest, ALateOneGoesAloneAndAtOnce)
{
    Claim late = claim();
    mark_late(late);
    gather(1, claim());
    gather(2, late);
    gather(3, claim());
    EXPECT_EQ(all(), (std::vector<Seqs>{{2}}));
    now_ += 50ms;
    EXPECT_EQ(all(), (std::vector<Seqs>{{1, 3}}));
    EXPECT_FALSE(share_a_message(claim(), late));
}

TEST(BatchRoomTest, IsFullAtEitherLimit)
{
    const BatchLimits limits{.events = 2, .bytes = 100};
    Claim claim;
    claim.bytes = 10;
    BatchRoom by_events(limits);
    EXPECT_TRUE(by_events.take(claim));
    EXPECT_FALSE(by_events.full());
    EXPECT_TRUE(by_events.take(claim));
    EXPECT_TRUE(by_events.full());
    EXPECT_FALSE(by_events.take(claim));
    BatchRoom by_bytes(limits);
    claim.bytes = std::numeric_limits<std::size_t>::max();
    EXPECT_TRUE(by_bytes.take(claim));
    EXPECT_TRUE(by_bytes.full());
}

} // namespace
} // namespace outbox::relay
