// The events a lane has read and not yet settled, in reading order. Plain C++.
//
// Strict order: of each ordering key one message is out at a time; the others wait behind it. Pipelined: none waits,
// the claims of a key are only known to belong together. A claim is
//
//   waiting    another of its key is before it
//   ready      may be published
//   gathered   the same, and chosen for a message of several (batches.hpp) that has not gone out yet
//   in flight  published, its outcome not known
//   settled    done, or set aside; it stays until all before it are, so that outstanding() knows the gaps
//
// Most were read from the log, and the position has yet to pass them; parked ones were read from outbox.parked, and it
// has.
#pragma once

#include "log/event.hpp"
#include "log/position.hpp"
#include "relay/policies.hpp"
#include "relay/ordering_key.hpp"
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

struct Claim {
    enum class State : std::uint8_t { waiting, ready, gathered, in_flight, settled };

    log::EventId id;
    OrderingKey key;
    State state = State::waiting;
    bool out_before = false;     // was published before: the next time is a repeat
    bool parked = false;         // read from outbox.parked
    bool late = false;           // a later one of its key may be out: its message says so
    Seq next_of_key = 0;         // 0: it is the last of its key
    std::uint32_t at_most = 0;   // its message may carry so many events; 0: any number
    std::size_t bytes = 0;       // of the message
    std::int64_t created_at = 0; // microseconds since 1970
    std::chrono::steady_clock::time_point claimed_at;
    transport::Message message;
};

// It comes out of order, and its message says so.
inline void mark_late(Claim &claim)
{
    if (!std::exchange(claim.late, true))
        claim.message.headers.emplace_back("outbox-late", true);
}

class Claims {
  public:
    // Ids up to `interleaved` may lie between ids that were settled before these claims began, so no range in
    // outstanding() may span two of them.
    explicit Claims(log::EventId interleaved, Ordering ordering = Ordering::strict)
        : ordering_(ordering), interleaved_(interleaved)
    {
    }

    void add(Claim claim);
    // An event of the log that was settled as it was read.
    void add_settled(log::EventId id);
    // The first ready claim in reading order; nullopt: none. It stays ready.
    std::optional<Seq> next_ready();
    Claim &operator[](Seq seq) { return claims_[seq - first_]; }
    const Claim &operator[](Seq seq) const { return claims_[seq - first_]; }

    // The one behind it of its key, if that waits: it may go with it in one message.
    std::optional<Seq> next_waiting(Seq seq) const;
    bool gathered_still(Seq seq) const { return seq >= first_ && claim(seq).state == Claim::State::gathered; }

    void gathered(Seq seq);  // ready -> gathered
    void published(Seq seq); // ready or gathered, or waiting behind one in the same message -> in flight
    void came_back(Seq seq); // gathered or in flight -> ready, or waiting behind one of its key that came back
    void settled(Seq seq);   // any -> settled; the next of its key becomes ready
    void confirmed(Seq seq); // in flight -> settled: a delivery that earlier ones of its key may come behind of

    // The claim, and those behind it of its key that are not in flight: what is set aside together.
    std::vector<Seq> with_followers(Seq seq) const;
    // A later one of its key was confirmed.
    bool overtaken(Seq seq) const;
    template <typename Each>
    void for_each_unsettled(Each &&each) const
    {
        for (const Claim &claim : claims_)
            if (claim.state != Claim::State::settled)
                each(claim);
    }
    // Those that `chosen` is true of, among what is not settled and not in flight.
    template <typename Chosen>
    std::vector<Seq> find_at_rest(Chosen &&chosen) const
    {
        std::vector<Seq> found;
        for (Seq seq = first_; seq < first_ + claims_.size(); ++seq)
            if (at_rest(claim(seq)) && chosen(claim(seq)))
                found.push_back(seq);
        return found;
    }

    std::size_t unsettled() const { return unsettled_; }
    std::size_t bytes() const { return bytes_; } // of what is unsettled
    std::size_t bytes_in_flight() const { return bytes_in_flight_; }
    std::size_t span() const { return claims_.size(); } // with the settled ones that are kept
    const Claim *oldest() const { return claims_.empty() ? nullptr : &claims_.front(); }

    // The ids that the position has to come back for: of what is unsettled and was read from the log. Two ids share a
    // range only if no settled id can lie between them.
    log::IdRanges outstanding() const;
    // Ids of what was published and is not settled.
    std::vector<log::EventId> published_ids() const;

  private:
    // The claims of one key, linked by next_of_key. The first is unsettled, so all of them are still kept.
    struct Chain {
        Seq first;
        Seq last;
        Seq newest_confirmed = 0;
    };

    static bool at_rest(const Claim &claim)
    {
        return claim.state != Claim::State::in_flight && claim.state != Claim::State::settled;
    }
    const Claim &claim(Seq seq) const { return claims_[seq - first_]; }
    void make_ready(Seq seq);
    void leave_chain(std::uint64_t key);
    void drop_settled_prefix();

    Ordering ordering_;
    Seq first_ = 1; // of claims_.front()
    std::deque<Claim> claims_;
    // Holds every ready claim, and some that are not ready any more.
    std::priority_queue<Seq, std::vector<Seq>, std::greater<>> ready_;
    std::unordered_map<std::uint64_t, Chain> chains_; // of every key with an unsettled claim
    std::size_t unsettled_ = 0;
    std::size_t bytes_ = 0;
    std::size_t bytes_in_flight_ = 0;
    log::EventId interleaved_; // also rises over the ids dropped from claims_
};

} // namespace outbox::relay
