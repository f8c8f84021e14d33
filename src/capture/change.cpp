#include "capture/change.hpp"

#include "capture/condition.hpp"
#include "capture/diff.hpp"

namespace outbox::capture {

namespace {

bool any_changed(const ColumnList &watched, const Row &before, const Row &after)
{
    return std::any_of(watched.columns, watched.columns + watched.count,
                       [&](const Column &column) { return value_changed(column, before, after); });
}

// Both rows are there, and count.
bool find_update(const CapturePlan &plan, Change *change)
{
    const bool deleted = is_soft_deleted(plan, change->row) && !is_soft_deleted(plan, change->before);
    change->operation = deleted ? Operation::remove : Operation::update;
    const bool watched = any_changed(plan.watch, change->before, change->row);
    if (plan.watch.count > 0 && !watched && !deleted)
        return false;
    change->changed_count = find_changes(plan, change->before, change->row, change->changed);
    return deleted || watched || change->changed_count > 0;
}

void set_rows(const CapturePlan &plan, TupleTableSlot *old_row, TupleTableSlot *new_row, Change *change)
{
    change->old_row = old_row;
    change->new_row = new_row;
    change->row = row_of(plan, new_row != nullptr ? new_row : old_row);
    change->before = old_row != nullptr ? row_of(plan, old_row) : change->row;
    change->latest = change->row;
    change->changed_count = 0;
}

} // namespace

bool is_soft_deleted(const CapturePlan &plan, const Row &row)
{
    return plan.soft_delete >= 0 && !row.nulls[plan.soft_delete];
}

bool meets_condition(const CapturePlan &plan, TupleTableSlot *row)
{
    return plan.condition == nullptr || meets(*plan.condition, row);
}

Change change_of_rows(const CapturePlan &plan, TupleTableSlot *old_row, TupleTableSlot *new_row)
{
    Change change{};
    set_rows(plan, old_row, new_row, &change);
    return change;
}

// A row that does not meet the condition counts as not there: so an update that enters it is an insert, and one that
// leaves it a delete.
bool find_change(const CapturePlan &plan, TupleTableSlot *old_row, TupleTableSlot *new_row, Change *change)
{
    // Before anything is taken apart: statements that set columns to what they were are common.
    if (old_row != nullptr && new_row != nullptr && stored_alike(old_row, new_row))
        return false;

    TupleTableSlot *latest = new_row != nullptr ? new_row : old_row;
    if (old_row != nullptr && !meets_condition(plan, old_row))
        old_row = nullptr;
    if (new_row != nullptr && !meets_condition(plan, new_row))
        new_row = nullptr;
    if (old_row == nullptr && new_row == nullptr)
        return false;
    set_rows(plan, old_row, new_row, change);
    if (latest != new_row)
        change->latest = row_of(plan, latest);

    if (old_row == nullptr) {
        change->operation = Operation::insert;
        return true;
    }
    if (new_row == nullptr) {
        // The soft delete was the event.
        change->operation = Operation::remove;
        return !is_soft_deleted(plan, change->row);
    }
    return find_update(plan, change);
}

} // namespace outbox::capture
