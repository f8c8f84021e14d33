// How many messages may be in flight. Plain C++.
//
//   open      up to the limit
//   rising    after a failure or a refusal: one first, then one more for each confirm, so the window doubles per
//             round trip
//   holding   many were refused in a row: nothing is sent until what is in flight has come in and the backoff is over
//   probing   one message is in flight; confirmed: rising; refused: holding, for longer
#pragma once

#include "relay/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace outbox::relay {

class Pace {
  public:
    using Time = std::chrono::steady_clock::time_point;
    enum class State { open, rising, holding, probing };

    // So many refusals with no confirm between them are no longer a matter of single messages.
    static constexpr int refusals_to_hold = 20;

    // careful: begin as after a failure.
    Pace(std::size_t limit, bool careful, Backoff backoff)
        : limit_(limit), window_(careful ? 1 : limit), state_(careful ? State::rising : State::open), backoff_(backoff)
    {
    }

    State state() const { return state_; }
    Time probe_at() const { return probe_at_; }

    bool allows(std::size_t in_flight, Time now) const
    {
        if (state_ == State::holding)
            return in_flight == 0 && now >= probe_at_;
        return in_flight < window_;
    }

    void published()
    {
        if (state_ == State::holding)
            state_ = State::probing;
    }

    void confirmed()
    {
        refusals_ = 0;
        if (state_ == State::probing) {
            state_ = State::rising;
            backoff_.reset();
        }
        if (state_ == State::rising && ++window_ >= limit_) {
            window_ = limit_;
            state_ = State::open;
        }
    }

    // Returns true if it holds: then the refusal is no fault of the message.
    bool refused(Time now)
    {
        window_ = 1;
        if (state_ == State::holding)
            return true;
        ++refusals_;
        if (state_ != State::probing && refusals_ < refusals_to_hold) {
            state_ = State::rising;
            return false;
        }
        state_ = State::holding;
        probe_at_ = now + backoff_.next();
        return true;
    }

    // It came back for want of a queue, which says nothing of whether a queue takes more: another one is tried.
    void returned()
    {
        if (state_ == State::probing)
            state_ = State::holding;
    }

    // Someone has looked into it: a lane that holds tries at once.
    void probe_now(Time now) { probe_at_ = std::min(probe_at_, now); }

  private:
    std::size_t limit_;
    std::size_t window_;
    State state_;
    int refusals_ = 0; // in a row
    Time probe_at_{};
    Backoff backoff_;
};

} // namespace outbox::relay
