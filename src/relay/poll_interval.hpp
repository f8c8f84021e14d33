// How long an idle lane waits before it looks at the log without having been woken: `shortest`, doubling after
// every five looks that found nothing, up to `longest`. Plain C++.
#pragma once

#include <algorithm>
#include <chrono>

namespace outbox::relay {

class PollInterval {
  public:
    using Duration = std::chrono::milliseconds;

    // The bounds are passed each time, as settings may change.
    Duration current(Duration shortest, Duration longest) const
    {
        const int doublings = std::min(empty_looks_ / looks_per_doubling, 20);
        return std::clamp(shortest * (1 << doublings), shortest, std::max(shortest, longest));
    }

    void found() { empty_looks_ = 0; }
    void found_nothing() { empty_looks_ = std::min(empty_looks_ + 1, looks_per_doubling * 20); }

  private:
    static constexpr int looks_per_doubling = 5;
    int empty_looks_ = 0;
};

} // namespace outbox::relay
