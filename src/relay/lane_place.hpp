// A lane's place in the log, and what it must remember from one connection to the next.
#pragma once

#include "log/progress.hpp"
#include "relay/lane_config.hpp"
#include "relay/parked_row.hpp"

#include <set>
#include <string>
#include <vector>

namespace outbox::relay {

struct LanePlace {
    log::Progress progress;
    ParkedChanges changes; // what the next record does to parked events
    bool progress_recorded = true;
    bool careful = false;               // the last connection ended with messages in doubt: begin with one
    std::vector<log::EventId> in_doubt; // those: published again, they are repeats. Ascending
    std::set<std::string> warned_of;    // routing keys that no queue took

    // Nothing of it is left to record.
    bool recorded() const { return progress_recorded && changes.empty(); }
};

// The place the lane left off at; the beginning of the log if it never ran.
LanePlace load_place(const LaneIdentity &identity);

// Records the progress and the changes of parked events, in one transaction that does not wait for the flush: so an
// event is passed only where it is stored as parked. False: somebody is changing the parked events, and nothing was
// recorded. Throws pg::Error, Gone.
bool record(const LaneIdentity &identity, LanePlace &place);

} // namespace outbox::relay
