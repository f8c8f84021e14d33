// Messages that carry several events (body "batch"): which claims go into one. Plain C++.
//
// The events of a message have one routing key and the same properties, and of each ordering key they are in order; the
// next message with that key waits, as ever, for the confirm of this one. A message goes out once it is full, or when
// its first event has lingered for long enough. A late event goes alone, as its message says so in a header.
#pragma once

#include "relay/claims.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace outbox::relay {

struct BatchLimits {
    std::size_t events = 50;
    std::size_t bytes = std::size_t{1024} * 1024; // of the bodies together; one event always fits
    std::chrono::milliseconds linger{0};
    bool operator==(const BatchLimits &) const = default;
};

// What is left of a message that is being put together.
class BatchRoom {
  public:
    explicit BatchRoom(const BatchLimits &limits) : at_most_(limits.events), bytes_left_(limits.bytes) {}

    // False: it does not fit.
    bool take(const Claim &claim);
    bool full() const { return events_ >= at_most_ || bytes_left_ == 0; }

  private:
    std::size_t events_ = 0;
    std::size_t at_most_;
    std::size_t bytes_left_;
};

// Whether the two may go into one message.
bool share_a_message(const Claim &one, const Claim &other);

class Batches {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Batches(const BatchLimits &limits) : limits_(limits) {}

    void gather(Seq seq, const Claim &claim, Time now);
    // The claims of the next message that is to go out, in order; nullopt: there is none yet. Some of them may not be
    // gathered any more.
    std::optional<std::vector<Seq>> next(Time now);
    // When the next message is to go out; nullopt: nothing is gathered. Past: at once.
    std::optional<Time> due() const;

  private:
    struct Group {
        std::string name; // of what its events have in common
        BatchRoom room;
        Time since;
        std::vector<Seq> claims;
    };
    using Groups = std::map<std::uint64_t, Group>; // by age

    Groups::iterator open(std::string name, Time now);
    void close(Groups::iterator group);

    BatchLimits limits_;
    Groups groups_; // that may take more events
    std::unordered_map<std::string, Groups::iterator> by_name_;
    std::deque<std::vector<Seq>> closed_;
    std::uint64_t next_number_ = 0;
};

} // namespace outbox::relay
