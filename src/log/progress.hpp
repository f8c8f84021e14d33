// The durable position of a lane: append-only rows of outbox.progress, of which the newest one counts (C++ regime,
// inside a transaction of the caller).
#pragma once

#include "log/position.hpp"

#include <cstdint>
#include <optional>

namespace outbox::log {

struct Progress {
    std::int64_t seq = 0;     // numbers the records of a lane
    std::int64_t settled = 0; // events settled by the lane in its life
    EventId highest;          // read so far: no settled id lies above it
    Position position;
};

// nullopt: the lane has none yet. Throws pg::Error, or std::invalid_argument if a record cannot be read.
std::optional<Progress> load_progress(int relay_id, int lane);

// Writes the record; its seq must be higher than that of the lane's last one. Throws pg::Error.
void record_progress(int relay_id, int lane, const Progress &progress);

} // namespace outbox::log
