// A lane's place in the log, and what it must remember from one connection to the next.
#pragma once

#include "log/progress.hpp"
#include "relay/lane_config.hpp"

#include <vector>

namespace outbox::relay {

struct LanePlace {
    log::Progress progress;
    bool recorded = true;               // progress is on record
    bool careful = false;               // the last connection ended with messages in doubt: begin with one
    std::vector<log::EventId> in_doubt; // those: published again, they are repeats. Ascending
};

// The place the lane left off at; the beginning of the log if it never ran.
LanePlace load_place(const LaneIdentity &identity);

// Records the progress, in a transaction of its own that does not wait for the flush. Throws pg::Error, Gone.
void record(const LaneIdentity &identity, LanePlace &place);

} // namespace outbox::relay
