// A tracked table, for functions that make events of its rows without its trigger firing: its plan, and its rows as
// the trigger would see them. Server regime.
#pragma once

#include "capture/plan.hpp"

namespace outbox::capture {

// Opens it as open_target() does, and refuses who may not make events of its rows: the owner's SQL may be part of them.
Relation open_tracked(Oid table);

// Compiled in the current memory context from the rule of the table's row trigger. Raises undefined_object if there is
// none, and what is wrong with the rule.
CapturePlan *plan_of_table(Relation table);

// A slot that holds the row: a value of the table's composite type, which must outlive the slot's use.
TupleTableSlot *slot_of_row(Relation table, Datum row);

} // namespace outbox::capture
