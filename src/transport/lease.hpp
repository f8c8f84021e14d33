// The lease of a target: an exclusive queue, which the broker lets one connection hold at a time.
#pragma once

#include <cstdint>

namespace outbox::transport {

enum class Lease : std::uint8_t {
    none, // not asked for
    held,
    not_permitted, // the user may not declare queues
};

} // namespace outbox::transport
