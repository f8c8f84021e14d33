// A change whose event could not be made, kept in outbox.capture_failure for outbox.reconcile(): which row, what it
// held (of what the rule captures or names), and the error. The rule's on_failure is "record".
//
// Server regime.
#pragma once

#include "capture/rule.hpp"

extern "C" {
#include "executor/tuptable.h"
}

namespace outbox::capture {

// Written in the current transaction, whatever the user's privileges are.
void record_failure(Relation table, const Rule &rule, Operation operation, TupleTableSlot *row, const ErrorData &error);

// The columns that tell which row of the table it is: of its key, else the rule's entity_id.
Value identifying_columns(Relation table, const Rule &rule);

} // namespace outbox::capture
