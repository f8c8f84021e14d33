// How long to wait before the next try: doubling from `first` to `highest`, with a jitter of a quarter so that many
// lanes do not come back at the same moment. Plain C++.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace outbox::relay {

class Backoff {
  public:
    using Duration = std::chrono::milliseconds;

    // Seeds may be neighbours, such as process ids.
    Backoff(Duration first, Duration highest, unsigned seed) : first_(first), highest_(highest), random_(mixed(seed)) {}

    Duration next()
    {
        wait_ = wait_.count() == 0 ? first_ : std::min(wait_ * 2, highest_);
        std::uniform_int_distribution<Duration::rep> jitter(0, wait_.count() / 4);
        return wait_ - Duration(jitter(random_));
    }

    void reset() { wait_ = Duration{0}; }

  private:
    // The first number out of a linear generator is its seed times a constant: neighbouring seeds alone would give
    // nearly the same jitter.
    static std::minstd_rand mixed(unsigned seed)
    {
        std::seed_seq sequence{seed};
        return std::minstd_rand(sequence);
    }

    Duration first_;
    Duration highest_;
    Duration wait_{0};
    std::minstd_rand random_;
};

} // namespace outbox::relay
