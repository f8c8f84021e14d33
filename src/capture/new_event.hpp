// The event that a change makes. Server regime.
#pragma once

#include "capture/change.hpp"
#include "log/append.hpp"

namespace outbox::capture {

enum class Purpose {
    log,     // takes the event's id, and before that, if the rule has queries, the lock of its ordering key
    preview, // only to be looked at
};

// Returns false if there is no event to write: the operation is not captured, or data_query found no row. What the
// event points to lies in CurrentMemoryContext. Raises what is wrong with the row or with the rule's SQL.
bool make_event(CapturePlan *plan, const Change &change, Relation table, Purpose purpose, log::NewEvent *event);

} // namespace outbox::capture
