// The events a lane has read and not yet settled, in reading order. Plain C++.
//
// Strict order: of each ordering key one message is out at a time; the others wait behind it. A claim is
//
//   waiting    another of its key is before it
//   ready      may be published
//   in flight  published, its outcome not known
//   settled    done; it stays until all before it are, so that outstanding() knows the gaps
#pragma once

#include "log/event.hpp"
#include "log/position.hpp"
#include "transport/message.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

namespace outbox::relay {

// A claim's number in reading order.
using Seq = std::uint64_t;

// Hash of (entity_type, ordering_key, or else entity_id). nullopt: the event has neither and is unordered. Two keys
// with one hash only wait for each other needlessly.
using OrderingKey = std::optional<std::uint64_t>;
OrderingKey ordering_key_of(const log::EventView &event);

struct Claim {
    enum class State : std::uint8_t { waiting, ready, in_flight, settled };

    log::EventId id;
    OrderingKey key;
    State state = State::waiting;
    bool out_before = false;     // was published before: the next time is a repeat
    Seq next_of_key = 0;         // 0: it is the last of its key
    std::size_t bytes = 0;       // of the message
    std::int64_t created_at = 0; // microseconds since 1970
    std::chrono::steady_clock::time_point claimed_at;
    transport::Message message;
};

class Claims {
  public:
    // Ids up to `interleaved` may lie between ids that were settled before these claims began, so no range in
    // outstanding() may span two of them.
    explicit Claims(log::EventId interleaved) : interleaved_(interleaved) {}

    void add(Claim claim);
    // The first ready claim in reading order; nullopt: none. It stays ready.
    std::optional<Seq> next_ready() const;
    Claim &operator[](Seq seq) { return claims_[seq - first_]; }

    void published(Seq seq); // ready -> in flight
    void settled(Seq seq);   // in flight -> settled; the next of its key becomes ready
    void came_back(Seq seq); // in flight -> ready

    std::size_t unsettled() const { return unsettled_; }
    std::size_t bytes() const { return bytes_; } // of what is unsettled
    std::size_t bytes_in_flight() const { return bytes_in_flight_; }
    std::size_t span() const { return claims_.size(); } // with the settled ones that are kept
    const Claim *oldest() const { return claims_.empty() ? nullptr : &claims_.front(); }

    // The ids of what is unsettled. Two ids share a range only if no settled id can lie between them.
    log::IdRanges outstanding() const;
    // Ids of what was published and is not settled.
    std::vector<log::EventId> published_ids() const;

  private:
    void drop_settled_prefix();

    Seq first_ = 1; // of claims_.front()
    std::deque<Claim> claims_;
    std::priority_queue<Seq, std::vector<Seq>, std::greater<>> ready_;
    std::unordered_map<std::uint64_t, Seq> last_of_key_; // of every key with an unsettled claim
    std::size_t unsettled_ = 0;
    std::size_t bytes_ = 0;
    std::size_t bytes_in_flight_ = 0;
    log::EventId interleaved_; // also rises over the ids dropped from claims_
};

} // namespace outbox::relay
