#include "capture/diff.hpp"

extern "C" {
#include "access/htup_details.h"
#include "utils/datum.h"
}

namespace outbox::capture {

namespace {

// The stored bytes: of a value outside the row these are its pointer, and equal pointers are equal values. An
// UPDATE that does not set a column copies them as they are.
bool same_stored_bytes(Datum before, Datum after)
{
    const void *a = DatumGetPointer(before);
    const void *b = DatumGetPointer(after);
    const Size size = VARSIZE_ANY(a);
    return size == VARSIZE_ANY(b) && memcmp(a, b, size) == 0;
}

bool same_value(const Column &column, Datum before, Datum after)
{
    if (column.by_value)
        return before == after;
    if (column.length > 0)
        return memcmp(DatumGetPointer(before), DatumGetPointer(after), column.length) == 0;
    if (column.length == -1 && same_stored_bytes(before, after))
        return true;
    return datum_image_eq(before, after, column.by_value, column.length);
}

} // namespace

bool stored_alike(TupleTableSlot *before, TupleTableSlot *after)
{
    if (!TTS_IS_BUFFERTUPLE(before) || !TTS_IS_BUFFERTUPLE(after))
        return false;
    const HeapTupleData *a = ExecFetchSlotHeapTuple(before, false, nullptr);
    const HeapTupleData *b = ExecFetchSlotHeapTuple(after, false, nullptr);
    // What comes before the bitmap of nulls says who wrote the row, and when.
    constexpr Size start = offsetof(HeapTupleHeaderData, t_bits);
    return a->t_len == b->t_len && a->t_data->t_hoff == b->t_data->t_hoff &&
           HeapTupleHeaderGetNatts(a->t_data) == HeapTupleHeaderGetNatts(b->t_data) &&
           HeapTupleHasNulls(a) == HeapTupleHasNulls(b) &&
           memcmp(reinterpret_cast<const char *>(a->t_data) + start, reinterpret_cast<const char *>(b->t_data) + start,
                  a->t_len - start) == 0;
}

bool value_changed(const Column &column, const Row &before, const Row &after)
{
    if (before.is_null(column) || after.is_null(column))
        return before.is_null(column) != after.is_null(column);
    return !same_value(column, before.value(column), after.value(column));
}

int find_changes(const CapturePlan &plan, const Row &before, const Row &after, std::int16_t *changed)
{
    int count = 0;
    for (int i = 0; i < plan.column_count; i++)
        if (value_changed(plan.columns[i], before, after))
            changed[count++] = static_cast<std::int16_t>(i);
    return count;
}

} // namespace outbox::capture
