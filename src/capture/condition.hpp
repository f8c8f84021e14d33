// The condition of a rule: an expression over the columns of one row, compiled as the WHEN of a trigger is and
// evaluated as that is, by the user who changes the row. It must be immutable: whether the old row met it is asked
// when the row changes, and the answer must be what it was before.
//
// Server regime.
#pragma once

#include "capture/rule.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

namespace outbox::capture {

struct Condition {
    ExprState *expression;
    ExprContext *context;
};

// Compiles in the current memory context; null if the rule has no condition. Raises what is wrong with it.
Condition *compile_condition(const Rule &rule, Relation table);

// Null is false.
bool meets(const Condition &condition, TupleTableSlot *row);

} // namespace outbox::capture
