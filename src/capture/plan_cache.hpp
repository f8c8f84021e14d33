// The plans of this backend's capture triggers, by trigger.
//
// A plan is made at the trigger's first call and stays until the relation cache reports a change of its table
// (every DDL on the table and its triggers does) or of a composite type that the plan looked into. The report may
// come at any moment, also while a plan is being made or used: it only marks. Whoever asks for a marked plan next
// makes a new one; the old one lives on until the transaction ends, for a caller further up the stack may be
// using it (a type's cast to json may run SQL that fires the same trigger).
//
// Server regime.
#pragma once

#include "capture/plan.hpp"

extern "C" {
#include "commands/trigger.h"
}

namespace outbox::capture {

// The plan that is there; null: it is to be made.
CapturePlan *find_plan(const TriggerData *call);

// Makes the plan. Raises what is wrong with the rule in the trigger's argument.
CapturePlan *make_plan(const TriggerData *call);

} // namespace outbox::capture
