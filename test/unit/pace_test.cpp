#include "relay/pace.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using State = Pace::State;

class PaceTest : public testing::Test {
  protected:
    static Pace pace(std::size_t limit, bool careful = false) { return {limit, careful, Backoff(1s, 4s, 1)}; }

    // How many may be in flight.
    static std::size_t window(const Pace &pace, Pace::Time now)
    {
        std::size_t in_flight = 0;
        while (pace.allows(in_flight, now))
            ++in_flight;
        return in_flight;
    }

    // Refusals until it holds.
    void hold(Pace &pace)
    {
        while (!pace.refused(now_))
            ;
    }

    // One round trip of as many as are allowed.
    void round_trip(Pace &pace)
    {
        const std::size_t count = window(pace, now_);
        for (std::size_t i = 0; i < count; ++i)
            pace.published();
        for (std::size_t i = 0; i < count; ++i)
            pace.confirmed();
    }

    Pace::Time now_{1h};
};

TEST_F(PaceTest, AnOpenOneAllowsUpToTheLimit)
{
    const Pace open = pace(100);
    EXPECT_EQ(open.state(), State::open);
    EXPECT_TRUE(open.allows(99, now_));
    EXPECT_FALSE(open.allows(100, now_));
    EXPECT_FALSE(open.allows(101, now_));
}

TEST_F(PaceTest, ACarefulOneBeginsWithOneAndDoublesPerRoundTrip)
{
    Pace careful = pace(100, true);
    for (const std::size_t expected : {1, 2, 4, 8, 16, 32, 64}) {
        EXPECT_EQ(careful.state(), State::rising);
        EXPECT_EQ(window(careful, now_), expected);
        round_trip(careful);
    }
    EXPECT_EQ(careful.state(), State::open);
    EXPECT_EQ(window(careful, now_), 100U);
    round_trip(careful);
    EXPECT_EQ(window(careful, now_), 100U);
}

TEST_F(PaceTest, ALimitOfOneIsOpenAfterTheFirstConfirm)
{
    Pace single = pace(1, true);
    round_trip(single);
    EXPECT_EQ(single.state(), State::open);
    EXPECT_EQ(window(single, now_), 1U);
}

TEST_F(PaceTest, AfterARefusalOneIsTriedFirstAndThePaceRisesAgain)
{
    Pace refused = pace(4);
    EXPECT_FALSE(refused.refused(now_));
    EXPECT_EQ(refused.state(), State::rising);
    EXPECT_EQ(window(refused, now_), 1U);
    round_trip(refused);
    EXPECT_EQ(window(refused, now_), 2U);
    round_trip(refused);
    EXPECT_EQ(refused.state(), State::open);
}

TEST_F(PaceTest, ItHoldsAtTheTwentiethRefusalInARow)
{
    Pace refused = pace(100);
    for (int refusal = 1; refusal < 20; ++refusal)
        EXPECT_FALSE(refused.refused(now_)) << refusal;
    EXPECT_TRUE(refused.refused(now_));
    EXPECT_EQ(refused.state(), State::holding);
}

TEST_F(PaceTest, AConfirmBetweenThemBeginsTheCountAgain)
{
    Pace refused = pace(100);
    for (int round = 0; round < 3; ++round) {
        for (int refusal = 1; refusal < 20; ++refusal)
            EXPECT_FALSE(refused.refused(now_));
        refused.confirmed();
    }
    EXPECT_EQ(refused.state(), State::rising);
}

TEST_F(PaceTest, ItHoldsUntilAllIsInAndTheBackoffIsOver)
{
    Pace held = pace(100);
    hold(held);
    EXPECT_GE(held.probe_at(), now_ + 750ms);
    EXPECT_LE(held.probe_at(), now_ + 1s);
    EXPECT_FALSE(held.allows(0, now_));
    EXPECT_FALSE(held.allows(0, held.probe_at() - 1ns));
    EXPECT_TRUE(held.allows(0, held.probe_at()));
    EXPECT_FALSE(held.allows(1, held.probe_at())) << "one of the first is still out";
}

TEST_F(PaceTest, ThenOneIsTriedAlone)
{
    Pace probing = pace(100);
    hold(probing);
    now_ = probing.probe_at();
    probing.published();
    EXPECT_EQ(probing.state(), State::probing);
    EXPECT_FALSE(probing.allows(1, now_ + 1h));
}

TEST_F(PaceTest, WhenThatOneIsConfirmedThePaceRisesAgain)
{
    Pace probing = pace(4);
    hold(probing);
    now_ = probing.probe_at();
    probing.published();
    probing.confirmed();
    EXPECT_EQ(probing.state(), State::rising);
    EXPECT_EQ(window(probing, now_), 2U);
    EXPECT_FALSE(probing.refused(now_)) << "the count begins again";
    round_trip(probing);
    round_trip(probing);
    EXPECT_EQ(probing.state(), State::open);
    EXPECT_EQ(window(probing, now_), 4U);
}

TEST_F(PaceTest, WhenThatOneIsRefusedItHoldsForLonger)
{
    Pace probing = pace(100);
    hold(probing);
    for (const auto full : {2000ms, 4000ms, 4000ms}) {
        now_ = probing.probe_at();
        probing.published();
        EXPECT_TRUE(probing.refused(now_));
        EXPECT_EQ(probing.state(), State::holding);
        EXPECT_GE(probing.probe_at(), now_ + full - full / 4);
        EXPECT_LE(probing.probe_at(), now_ + full);
    }
}

TEST_F(PaceTest, WhenNoQueueTakesThatOneAnotherIsTriedAtOnce)
{
    Pace probing = pace(100);
    hold(probing);
    now_ = probing.probe_at();
    probing.published();
    probing.returned();
    EXPECT_EQ(probing.state(), State::holding);
    EXPECT_TRUE(probing.allows(0, now_));
}

TEST_F(PaceTest, AReturnChangesNothingElse)
{
    Pace open = pace(100);
    open.returned();
    EXPECT_EQ(window(open, now_), 100U);
    hold(open);
    open.returned();
    EXPECT_FALSE(open.allows(0, now_));
}

TEST_F(PaceTest, WhatWasInFlightWithTheRefusedOnesChangesNothing)
{
    Pace held = pace(100);
    hold(held);
    const auto probe_at = held.probe_at();
    EXPECT_TRUE(held.refused(now_ + 1ms));
    held.confirmed();
    EXPECT_TRUE(held.refused(now_ + 2ms));
    EXPECT_EQ(held.state(), State::holding);
    EXPECT_EQ(held.probe_at(), probe_at);
}

TEST_F(PaceTest, OneThatHoldsTriesAtOnceWhenSomeoneHasLookedIntoIt)
{
    Pace held = pace(100);
    hold(held);
    held.probe_now(now_);
    EXPECT_TRUE(held.allows(0, now_));
}

TEST_F(PaceTest, AProbeThatGotThroughMakesTheNextBackoffShort)
{
    Pace pace = PaceTest::pace(100);
    hold(pace);
    for (int failures = 0; failures < 3; ++failures) {
        now_ = pace.probe_at();
        pace.published();
        pace.refused(now_);
    }
    now_ = pace.probe_at();
    pace.published();
    pace.confirmed();
    hold(pace);
    EXPECT_LE(pace.probe_at(), now_ + 1s);
}

} // namespace
} // namespace outbox::relay
