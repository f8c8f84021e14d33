#include "relay/backoff.hpp"

#include <gtest/gtest.h>

#include <set>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;

void expect_within_jitter(Backoff::Duration wait, Backoff::Duration full)
{
    EXPECT_LE(wait, full);
    EXPECT_GE(wait, full - full / 4);
}

TEST(BackoffTest, ItDoublesUpToTheHighest)
{
    for (unsigned seed = 0; seed < 100; ++seed) {
        Backoff backoff(250ms, 3s, seed);
        for (const auto full : {250ms, 500ms, 1000ms, 2000ms, 3000ms, 3000ms, 3000ms})
            expect_within_jitter(backoff.next(), full);
    }
}

TEST(BackoffTest, AfterAResetItBeginsAnew)
{
    Backoff backoff(1s, 30s, 1);
    for (int i = 0; i < 4; ++i)
        backoff.next();
    backoff.reset();
    expect_within_jitter(backoff.next(), 1s);
    expect_within_jitter(backoff.next(), 2s);
}

TEST(BackoffTest, NeighbouringSeedsComeBackAtDifferentMoments)
{
    std::set<Backoff::Duration> waits;
    for (unsigned process = 1000; process < 1010; ++process)
        waits.insert(Backoff(10s, 30s, process).next());
    EXPECT_EQ(waits.size(), 10U);
    EXPECT_GT(*waits.rbegin() - *waits.begin(), 1s) << "of a jitter of 2.5 s";
}

} // namespace
} // namespace outbox::relay
