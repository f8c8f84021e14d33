// Durations in buckets, eight to each power of two: a percentile read from it is at most an eighth too high.
// Plain data: lives in shared memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace outbox::stats {

struct Histogram {
    static constexpr int step_bits = 3; // of a value, behind its leading one
    static constexpr int steps = 1 << step_bits;
    static constexpr int highest_octave = 41; // durations below 2^42 us: 50 days
    static constexpr std::size_t buckets = std::size_t{highest_octave - step_bits + 1} * steps;
    std::array<std::uint64_t, buckets> counts;

    void add(std::int64_t microseconds) { ++counts[bucket_of(microseconds)]; }

    // The upper edge, in microseconds, of the bucket that holds the percentile (0 < p <= 1). -1: it is empty.
    std::int64_t percentile(double p) const
    {
        std::uint64_t total = 0;
        for (const auto count : counts)
            total += count;
        if (total == 0)
            return -1;

        const double wanted = p * static_cast<double>(total);
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
            seen += counts[bucket];
            if (static_cast<double>(seen) >= wanted)
                return upper_edge(bucket);
        }
        return upper_edge(buckets - 1);
    }

    // What is shorter than `steps` microseconds is in the first bucket, what is too long in the last one.
    static std::size_t bucket_of(std::int64_t microseconds)
    {
        const auto value = static_cast<std::uint64_t>(microseconds < steps ? steps : microseconds);
        const auto octave = static_cast<int>(std::bit_width(value)) - 1; // value is in [2^octave, 2^(octave+1))
        const int shift = octave - step_bits;
        const auto bucket = static_cast<std::size_t>(shift) * steps + ((value >> shift) & (steps - 1));
        return bucket < buckets ? bucket : buckets - 1;
    }

    static std::int64_t upper_edge(std::size_t bucket)
    {
        const auto shift = bucket / steps;
        const auto step = bucket % steps;
        return static_cast<std::int64_t>((steps + step + 1) << shift);
    }
};

} // namespace outbox::stats
