// What happened to a row, in the rule's terms. Server regime.
#pragma once

#include "capture/plan.hpp"

namespace outbox::capture {

struct Change {
    Operation operation;
    TupleTableSlot *new_row; // null: none
    TupleTableSlot *old_row;
    Row row; // what the event is about: the new row; of a removed one, the old row
    Row before;
    Row latest; // the row as the user left it, which says who that was; of a removed one, as it was
    std::int16_t changed[MaxHeapAttributeNumber]; // places in plan.columns
    int changed_count;
};

bool is_soft_deleted(const CapturePlan &plan, const Row &row);

// A rule without a condition is met by every row.
bool meets_condition(const CapturePlan &plan, TupleTableSlot *row);

// Makes it of the rows before and after (null: there was none). Returns false if there is no event to write. The slots
// are used as long as the change is.
bool find_change(const CapturePlan &plan, TupleTableSlot *old_row, TupleTableSlot *new_row, Change *change);

// A change of these rows (null: there is none), whatever they hold: the operation, and what the rule has to say, are
// left to the caller.
Change change_of_rows(const CapturePlan &plan, TupleTableSlot *old_row, TupleTableSlot *new_row);

// Of a whole table.
inline Change truncation()
{
    return Change{.operation = Operation::truncate};
}

} // namespace outbox::capture
