// What orders an event among others, and which lane it belongs to. Plain C++.
//
// The hash and the lane made from it are kept on disk by what depends on them (positions of lanes, parked events), and
// two versions of the library must agree on them: neither may ever change. Unit tests hold them to fixed values.
#pragma once

#include "log/event.hpp"

#include <cstdint>
#include <optional>

namespace outbox::relay {

// Hash of (entity_type, ordering_key, or else entity_id). nullopt: the event has neither and is unordered. Two keys
// with one hash only wait for each other needlessly.
using OrderingKey = std::optional<std::uint64_t>;
OrderingKey ordering_key_of(const log::EventView &event);

// Most lanes a relay can have.
constexpr int max_lanes = 32;

// The lane of a key (its hash), of 0 .. lanes - 1.
int lane_of_key(std::uint64_t key, int lanes);
// The lane of an event: of its key, or of its id if it is unordered.
int lane_of(const OrderingKey &key, log::EventId id, int lanes);

} // namespace outbox::relay
