// The extension's own tables, read without SPI: no privileges, search_path or plans of the user are involved.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace outbox::log {

// Calls visit(tuple, descriptor) for each row of the table that is visible now (not only to the transaction's
// snapshot). A table that does not exist has no rows. visit may only hold trivially destructible objects.
template <typename F>
void for_each_row(Oid table, F &&visit)
{
    Relation relation = OidIsValid(table) ? try_table_open(table, AccessShareLock) : nullptr;
    if (relation == nullptr)
        return;
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, snapshot, 0, nullptr);
    while (HeapTuple tuple = systable_getnext(scan))
        visit(tuple, RelationGetDescr(relation));
    systable_endscan(scan);
    UnregisterSnapshot(snapshot);
    table_close(relation, AccessShareLock);
}

// The value of the column of that name; false if it is null or the catalog has no such column.
inline bool column_value(HeapTuple tuple, TupleDesc descriptor, Oid table, const char *name, Datum *value)
{
    const AttrNumber number = get_attnum(table, name);
    if (number == InvalidAttrNumber)
        return false;
    bool is_null = true;
    *value = heap_getattr(tuple, number, descriptor, &is_null);
    return !is_null;
}

} // namespace outbox::log
