// How many messages may be in flight. Plain C++.
//
//   open      up to the limit
//   rising    after a failure: one first, then one more for each confirm, so the window doubles per round trip
//   holding   a message was returned or refused: nothing is sent until what is in flight has come in and the
//             backoff is over
//   probing   that one message is in flight; confirmed: rising; returned or refused: holding, for longer
#pragma once

#include "relay/backoff.hpp"

#include <chrono>
#include <cstddef>

namespace outbox::relay {

class Pace {
  public:
    using Time = std::chrono::steady_clock::time_point;
    enum class State { open, rising, holding, probing };

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
        if (state_ == State::probing) {
            state_ = State::rising;
            backoff_.reset();
        }
        if (state_ == State::rising && ++window_ >= limit_) {
            window_ = limit_;
            state_ = State::open;
        }
    }

    // Returned, refused, or found unfit before it was sent. Returns false for one of those that were in flight with
    // the first: it begins no hold of its own.
    bool refused(Time now)
    {
        if (state_ == State::holding && now < probe_at_)
            return false;
        state_ = State::holding;
        window_ = 1;
        probe_at_ = now + backoff_.next();
        return true;
    }

  private:
    std::size_t limit_;
    std::size_t window_;
    State state_;
    Time probe_at_{};
    Backoff backoff_;
};

} // namespace outbox::relay
