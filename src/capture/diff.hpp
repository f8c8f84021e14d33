// Which columns an UPDATE changed. Server regime.
#pragma once

#include "capture/plan.hpp"

namespace outbox::capture {

// True if both rows are stored in the same bytes: then no column of them differs. False says nothing.
bool stored_alike(TupleTableSlot *before, TupleTableSlot *after);

// True if the two images differ. Values that are stored outside the row are compared by their pointers first,
// and fetched only if these differ and the sizes do not tell.
bool value_changed(const Column &column, const Row &before, const Row &after);

// Fills `changed` (room for plan.column_count) with places in plan.columns, ascending; returns how many.
int find_changes(const CapturePlan &plan, const Row &before, const Row &after, std::int16_t *changed);

} // namespace outbox::capture
