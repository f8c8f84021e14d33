#include "relay/poll_interval.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;

TEST(PollIntervalTest, ItDoublesAfterEveryFiveLooksThatFoundNothing)
{
    PollInterval interval;
    for (const auto expected : {250ms, 500ms, 1000ms, 2000ms, 2000ms, 2000ms})
        for (int look = 0; look < 5; ++look) {
            EXPECT_EQ(interval.current(250ms, 2s), expected);
            interval.found_nothing();
        }
}

TEST(PollIntervalTest, ALookThatFoundSomethingMakesItShortAgain)
{
    PollInterval interval;
    for (int look = 0; look < 9; ++look)
        interval.found_nothing();
    interval.found();
    for (int look = 0; look < 5; ++look) {
        EXPECT_EQ(interval.current(250ms, 2s), 250ms);
        interval.found_nothing();
    }
    EXPECT_EQ(interval.current(250ms, 2s), 500ms);
}

TEST(PollIntervalTest, NewBoundsHoldAtOnce)
{
    PollInterval interval;
    for (int look = 0; look < 100; ++look)
        interval.found_nothing();
    EXPECT_EQ(interval.current(250ms, 2s), 2s);
    EXPECT_EQ(interval.current(250ms, 600s), 600s);
    EXPECT_EQ(interval.current(3s, 3s), 3s);
}

TEST(PollIntervalTest, ALongestBelowTheShortestCountsAsTheShortest)
{
    PollInterval interval;
    for (int look = 0; look < 10; ++look)
        interval.found_nothing();
    EXPECT_EQ(interval.current(500ms, 10ms), 500ms);
}

TEST(PollIntervalTest, AnIdleDayDoesNotOverflow)
{
    PollInterval interval;
    for (int look = 0; look < 1'000'000; ++look)
        interval.found_nothing();
    EXPECT_EQ(interval.current(60s, 600s), 600s);
    EXPECT_EQ(interval.current(10ms, 600s), 600s);
}

} // namespace
} // namespace outbox::relay
