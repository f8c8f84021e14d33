// The table that is tracked: whether it can be, and the triggers it has. Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/rel.h"
#include "utils/reltrigger.h"
}

namespace outbox::capture {

// "!" sorts before letters and digits: triggers fire in the order of their names, and an AFTER trigger that
// changes the row again must come after ours.
inline constexpr const char *row_trigger_name = "!outbox_capture";
inline constexpr const char *truncate_trigger_name = "!outbox_capture_truncate";

// Opens it with AccessShareLock, and refuses what is no table whose changes can be captured, or is not the
// caller's to track.
Relation open_target(Oid table);

// Refuses a partition whose trigger is a copy of its parent's: the parent is the tracked table.
void refuse_tracked_partition(Relation table);

// Refuses what would capture a change twice, and a trigger of our names that is not ours.
void refuse_other_capture_triggers(Relation table);

// AFTER ROW triggers that fire before ours see and make changes out of order.
void warn_of_earlier_triggers(Relation table);

// Null if there is none. Valid until the table's triggers change.
const Trigger *find_trigger(Relation table, const char *name);

// Schema and name, quoted.
const char *qualified_name(Relation table);

} // namespace outbox::capture
