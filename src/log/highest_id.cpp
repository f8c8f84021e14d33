#include "log/highest_id.hpp"

#include "log/catalog.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/itup.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
}

namespace outbox::log {

namespace {

// The last key of the index. The heap is never asked, so it does not matter whether the row is visible.
std::int64_t last_key(Relation slice, Relation index)
{
    IndexScanDesc scan = pg::compat::index_beginscan(slice, index, SnapshotAny);
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

bool is_id_index(Relation index, AttrNumber id)
{
    return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisvalid && index->rd_index->indisunique &&
           index->rd_index->indkey.values[0] == id && RelationGetIndexPredicate(index) == NIL;
}

std::int64_t highest_id_of_slice(Oid slice)
{
    Relation relation = table_open(slice, NoLock);
    const AttrNumber id = get_attnum(slice, "id");
    std::int64_t highest = 0;
    List *indexes = RelationGetIndexList(relation);
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        if (is_id_index(index, id))
            highest = std::max(highest, last_key(relation, index));
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    table_close(relation, NoLock);
    return highest;
}

// The highest value of the column highest_id in a table of the schema.
std::int64_t highest_recorded(const char *name)
{
    const Oid table = pg::table_oid(name);
    std::int64_t highest = 0;
    for_each_row(table, [&](HeapTuple tuple, TupleDesc descriptor) {
        Datum value = 0;
        if (column_value(tuple, descriptor, table, "highest_id", &value))
            highest = std::max(highest, DatumGetInt64(value));
    });
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
        highest = std::max(highest, highest_id_of_slice(lfirst_oid(cell)));
    highest = std::max({highest, highest_recorded("slice"), highest_recorded("progress")});
    foreach (cell, slices)
        UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
    list_free(slices);
    return {highest};
}

} // namespace outbox::log
