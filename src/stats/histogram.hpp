// Durations in buckets a quarter of a power of two wide: a percentile read from it is at most 19% too high.
// Plain data: lives in shared memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace outbox::stats {

struct Histogram {
    static constexpr int buckets_per_octave = 4;
    static constexpr int octaves = 42; // up to 2^42 us, 50 days
    std::array<std::uint64_t, std::size_t{octaves} * buckets_per_octave> counts;

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
        for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
            seen += counts[bucket];
            if (static_cast<double>(seen) >= wanted)
                return upper_edge(bucket);
        }
        return upper_edge(counts.size() - 1);
    }

    static std::size_t bucket_of(std::int64_t microseconds)
    {
        const auto value =
            static_cast<std::uint64_t>(microseconds < buckets_per_octave ? buckets_per_octave : microseconds);
        const int octave = std::bit_width(value) - 1;     // value is in [2^octave, 2^(octave+1))
        const auto quarter = (value >> (octave - 2)) & 3; // the two bits behind the leading one
        const auto bucket = static_cast<std::size_t>(octave - 2) * buckets_per_octave + quarter;
        const std::size_t highest = std::tuple_size_v<decltype(counts)> - 1;
        return bucket < highest ? bucket : highest;
    }

    static std::int64_t upper_edge(std::size_t bucket)
    {
        const auto octave = bucket / buckets_per_octave + 2;
        const auto quarter = bucket % buckets_per_octave;
        return static_cast<std::int64_t>((std::uint64_t{buckets_per_octave} + quarter + 1) << (octave - 2));
    }
};

} // namespace outbox::stats
