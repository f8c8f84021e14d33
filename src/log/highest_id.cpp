#include "log/highest_id.hpp"

#include "log/catalog.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/itup.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
}

namespace outbox::log {

namespace {

// The last key of the index. The heap is never asked, so it does not matter whether the row is visible.
std::int64_t last_key(Relation table, Relation index)
{
    IndexScanDesc scan = pg::compat::index_beginscan(table, index, SnapshotAny);
    scan->xs_want_itup = true;
    index_rescan(scan, nullptr, 0, nullptr, 0);

    std::int64_t key = 0;
    if (index_getnext_tid(scan, BackwardScanDirection) != nullptr) {
        bool is_null = true;
        const Datum value = index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &is_null);
        if (!is_null)
            key = DatumGetInt64(value);
    }
    index_endscan(scan);
    return key;
}

bool is_sorted_by(Relation index, AttrNumber column)
{
    return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisvalid &&
           index->rd_index->indkey.values[0] == column && (index->rd_indoption[0] & INDOPTION_DESC) == 0 &&
           RelationGetIndexPredicate(index) == NIL;
}

// The highest value in the table's index on the column; 0 if the table has none.
std::int64_t highest_indexed(Relation table, const char *column)
{
    const AttrNumber number = get_attnum(RelationGetRelid(table), column);
    std::int64_t highest = 0;
    List *indexes = RelationGetIndexList(table);
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        if (is_sorted_by(index, number))
            highest = std::max(highest, last_key(table, index));
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    return highest;
}

std::int64_t highest_in_slice(Oid slice)
{
    Relation table = table_open(slice, NoLock);
    const std::int64_t highest = highest_indexed(table, "id");
    table_close(table, NoLock);
    return highest;
}

std::int64_t highest_truncated()
{
    const Oid table = pg::table_oid("slice");
    std::int64_t highest = 0;
    for_each_row(table, [&](HeapTuple tuple, TupleDesc descriptor) {
        Datum value = 0;
        if (column_value(tuple, descriptor, table, "highest_id", &value))
            highest = std::max(highest, DatumGetInt64(value));
    });
    return highest;
}

// What a relay has read or parked was in a slice, so these only confirm the others, but for a restored dump: no writer
// waits for a lock on them.
std::int64_t highest_in(const char *name, const char *column)
{
    const Oid oid = pg::table_oid(name);
    if (!OidIsValid(oid) || !ConditionalLockRelationOid(oid, AccessShareLock))
        return 0;
    Relation table = try_table_open(oid, NoLock);
    if (table == nullptr) {
        UnlockRelationOid(oid, AccessShareLock);
        return 0;
    }
    const std::int64_t highest = highest_indexed(table, column);
    table_close(table, AccessShareLock);
    return highest;
}

} // namespace

EventId highest_id(Oid event)
{
    std::int64_t highest = 0;
    // The locks keep the slices from being truncated until the indexes are read, and outbox.slice is read last:
    // it has the highest id of every slice that was truncated before.
    List *slices = find_inheritance_children(event, AccessShareLock);
    ListCell *cell = nullptr;
    foreach (cell, slices)
        highest = std::max(highest, highest_in_slice(lfirst_oid(cell)));
    highest =
        std::max({highest, highest_truncated(), highest_in("progress", "highest_id"), highest_in("parked", "id")});
    foreach (cell, slices)
        UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
    list_free(slices);
    return {highest};
}

} // namespace outbox::log
