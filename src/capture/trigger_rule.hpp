// The rule in the argument of a capture trigger, as outbox.track() or a migration wrote it. Server regime.
#pragma once

#include "capture/plan.hpp"

extern "C" {
#include "utils/reltrigger.h"
}

namespace outbox::capture {

// Raises what is wrong with the argument itself, whatever the table looks like.
Rule parse_trigger_rule(const Trigger &trigger);

// Completes and compiles it for the table that the trigger is on, in the current memory context: a partition's trigger
// speaks for the table it was created on, and one for TRUNCATE for no row.
CapturePlan *compile_trigger_rule(Rule *rule, const Trigger &trigger, Relation table);

} // namespace outbox::capture
