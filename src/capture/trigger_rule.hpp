// The rule in the argument of a capture trigger, as outbox.track() or a migration wrote it. Server regime.
#pragma once

#include "capture/rule.hpp"

extern "C" {
#include "utils/reltrigger.h"
}

namespace outbox::capture {

// Raises what is wrong with the argument itself, whatever the table looks like.
Rule parse_trigger_rule(const Trigger &trigger);

// complete_rule() for the table that the trigger is on: a partition's trigger speaks for the table it was created on.
void complete_trigger_rule(Rule *rule, const Trigger &trigger, Relation table);

} // namespace outbox::capture
