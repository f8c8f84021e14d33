// The highest event id that this database knows of: what the clock must never fall behind.
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

namespace outbox::log {

// Looks in the slices' id indexes (visible or not: a prepared transaction may hold the highest one), in
// outbox.slice (what was truncated) and in outbox.progress. 0 if there is none. `event` is outbox.event's OID.
EventId highest_id(Oid event);

} // namespace outbox::log
