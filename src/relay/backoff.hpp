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

    Backoff(Duration first, Duration highest, unsigned seed) : first_(first), highest_(highest), random_(seed) {}

    Duration next()
    {
        wait_ = wait_.count() == 0 ? first_ : std::min(wait_ * 2, highest_);
        std::uniform_int_distribution<Duration::rep> jitter(0, wait_.count() / 4);
        return wait_ - Duration(jitter(random_));
    }

    void reset() { wait_ = Duration{0}; }

  private:
    Duration first_;
    Duration highest_;
    Duration wait_{0};
    std::minstd_rand random_;
};

} // namespace outbox::relay
