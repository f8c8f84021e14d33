// The condition of a rule: an expression over the columns of one row, compiled as the WHEN of a trigger is, but run as
// the owner of the table, in the rule's settings. It must be immutable: whether the old row met it is asked when the
// row changes, and the answer must be what it was before.
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
    bool calls_foreign_code; // else it needs neither the owner nor the settings, and costs nanoseconds
    Oid owner;
    const char *search_path;
};

// Compiles in the current memory context; null if the rule has no condition. Raises what is wrong with it.
Condition *compile_condition(const Rule &rule, Relation table);

// Null is false.
bool meets(const Condition &condition, TupleTableSlot *row);

} // namespace outbox::capture
