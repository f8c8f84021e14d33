#include "stats/histogram.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace outbox::stats {
namespace {

TEST(HistogramTest, AnEmptyOneHasNoPercentiles)
{
    EXPECT_EQ(Histogram{}.percentile(0.5), -1);
}

TEST(HistogramTest, ADurationLiesBelowTheUpperEdgeOfItsBucketByAtMostAnEighth)
{
    std::minstd_rand random(1);
    for (std::int64_t octave = 8; octave < std::int64_t{1} << 41; octave *= 2)
        for (int i = 0; i < 50; ++i) {
            const auto duration = std::uniform_int_distribution<std::int64_t>(octave, 2 * octave - 1)(random);
            const std::int64_t edge = Histogram::upper_edge(Histogram::bucket_of(duration));
            ASSERT_GT(edge, duration);
            ASSERT_LE(edge - duration, duration / 8 + 1) << duration;
        }
}

TEST(HistogramTest, BucketsFollowEachOtherWithoutAGap)
{
    for (std::size_t bucket = 0; bucket + 1 < Histogram::buckets; ++bucket) {
        const std::int64_t edge = Histogram::upper_edge(bucket);
        ASSERT_EQ(Histogram::bucket_of(edge - 1), bucket);
        ASSERT_EQ(Histogram::bucket_of(edge), bucket + 1);
    }
}

TEST(HistogramTest, WhatIsTooShortOrTooLongIsInTheFirstOrLastBucket)
{
    for (const std::int64_t too_short : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                                         std::int64_t{7}, std::int64_t{8}})
        EXPECT_EQ(Histogram::bucket_of(too_short), 0U) << too_short;
    for (const std::int64_t too_long :
         {(std::int64_t{1} << 42) - 1, std::int64_t{1} << 42, std::numeric_limits<std::int64_t>::max()})
        EXPECT_EQ(Histogram::bucket_of(too_long), Histogram::buckets - 1) << too_long;
}

TEST(HistogramTest, APercentileIsTheUpperEdgeOfTheBucketThatHoldsIt)
{
    Histogram histogram{};
    for (int i = 0; i < 90; ++i)
        histogram.add(100); // [96, 104)
    for (int i = 0; i < 9; ++i)
        histogram.add(1'000); // [960, 1024)
    histogram.add(1'000'000); // [983040, 1048576)

    const std::pair<double, std::int64_t> cases[] = {
        {0.01, 104},   {0.5, 104},    {0.9, 104},         {0.91, 1'024},
        {0.95, 1'024}, {0.99, 1'024}, {0.995, 1'048'576}, {1.0, 1'048'576},
    };
    for (const auto &[p, duration] : cases)
        EXPECT_EQ(histogram.percentile(p), duration) << p;
}

TEST(HistogramTest, OfOneDurationEveryPercentileIsThatOne)
{
    Histogram histogram{};
    histogram.add(5'000);
    for (const double p : {0.001, 0.5, 1.0})
        EXPECT_EQ(histogram.percentile(p), 5'120);
}

} // namespace
} // namespace outbox::stats
