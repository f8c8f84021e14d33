// An event's two names: `id`, and the UUIDv7 made from it. One gives the other, so no index is needed to find
// an event by its event_id. Plain C++: unit tests include it without a server.
#pragma once

#include "log/event.hpp"

#include <array>
#include <cstdint>

namespace outbox::log {

using Uuid = std::array<std::uint8_t, 16>;

// RFC 9562: 48 bits of unix milliseconds (id / 1000), the version, 12 bits of microseconds within them
// (id % 1000), the variant, and the low 62 bits of `random`. id must not be negative.
Uuid uuid_of(EventId id, std::uint64_t random);

// The id that a UUID of uuid_of was made from. Means nothing for any other UUID.
EventId id_of(const Uuid &uuid);

} // namespace outbox::log
