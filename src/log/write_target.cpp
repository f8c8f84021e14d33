#include "log/write_target.hpp"

#include "log/catalog.hpp"
#include "log/clock.hpp"
#include "log/highest_id.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "catalog/partition.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
}

namespace outbox::log {

namespace {

constexpr const char *column_names[column_count] = {
    "id",           "xid",        "slice",        "event_id",   "event_type",   "entity_type",    "entity_id",
    "ordering_key", "payload",    "workspace_id", "project_id", "initiator_id", "initiator_type", "schema_version",
    "headers",      "created_at",
};

struct Cache {
    WriteTarget target;
    Oid slice_table;      // outbox.slice
    MemoryContext memory; // of what target points to: dropped with one call
};

Cache cache;
bool complete;    // cache was made to its end
bool invalidated; // since it was made, or while it was
Oid raised_for;   // the outbox.event whose highest id the clock was raised to

// Where the target's table and indexes were locked. The locks are held until that transaction ends, but a rollback of
// the subtransaction would take them away: elsewhere in it they are taken again.
struct Place {
    FullTransactionId transaction;
    SubTransactionId subtransaction;
};

Place locked_at;

// Only marks: the cache may be in use, and the server's caches must not be touched in here.
void on_relcache_invalidation(Datum, Oid relation)
{
    if (relation == InvalidOid || relation == cache.target.relation || relation == cache.target.event ||
        relation == cache.slice_table)
        invalidated = true;
}

[[noreturn]] void raise_not_installed()
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("extension outbox_relay is not installed in this database"),
            errdetail("The table outbox.event, which events are written to, does not exist here."),
            errhint("Run CREATE EXTENSION outbox_relay, or drop the triggers that call outbox.capture()."));
    pg_unreachable();
}

std::int16_t slice_written_now(Oid slice_table)
{
    int slice = -1;
    for_each_row(slice_table, [&](HeapTuple tuple, TupleDesc descriptor) {
        Datum writing = 0;
        Datum number = 0;
        if (column_value(tuple, descriptor, slice_table, "writing", &writing) && DatumGetBool(writing) &&
            column_value(tuple, descriptor, slice_table, "slice", &number))
            slice = DatumGetInt16(number);
    });
    if (slice < 0)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("no slice of outbox.event is being written"),
                errdetail("No row of outbox.slice has \"writing\" set."),
                errhint("Run UPDATE outbox.slice SET writing = true WHERE slice = 0."));
    return static_cast<std::int16_t>(slice);
}

Oid table_of_slice(std::int16_t slice)
{
    char name[NAMEDATALEN];
    snprintf(name, sizeof(name), "event_%d", slice);
    const Oid table = pg::table_oid(name);
    if (!OidIsValid(table))
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("table outbox.%s does not exist", name),
                errdetail("outbox.slice says that events are written to slice %d.", slice),
                errhint("Drop the extension and create it again."));
    return table;
}

void learn_indexes(Relation relation, WriteTarget *target)
{
    List *indexes = RelationGetIndexList(relation);
    target->indexes = static_cast<Oid *>(palloc(sizeof(Oid) * list_length(indexes)));
    target->index_infos = static_cast<IndexInfo **>(palloc(sizeof(IndexInfo *) * list_length(indexes)));
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), RowExclusiveLock);
        IndexInfo *info = BuildIndexInfo(index);
        if (info->ii_ExclusionOps != nullptr)
            ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("exclusion constraint \"%s\" on the log is not supported", RelationGetRelationName(index)),
                    errdetail("Events are written without the executor, which would check it."),
                    errhint("Drop the constraint."));
        if (info->ii_ReadyForInserts) {
            target->indexes[target->index_count] = RelationGetRelid(index);
            target->index_infos[target->index_count++] = info;
        }
        index_close(index, NoLock);
    }
    list_free(indexes);
}

void learn_columns(Relation relation, WriteTarget *target)
{
    for (int i = 0; i < column_count; i++)
        target->attribute[i] = get_attnum(target->relation, column_names[i]);
    // The descriptor is copied: the relation cache's own may go while the slot is kept.
    target->slot = MakeTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(relation)), &TTSOpsVirtual);
    target->default_initiator_type = cstring_to_text("USER");
}

// Leaves the slice locked until the transaction ends. Each OID goes into the cache as soon as it is known: from then on
// an invalidation of it counts.
void learn()
{
    cache.target.event = pg::table_oid("event");
    cache.slice_table = pg::table_oid("slice");
    if (!OidIsValid(cache.target.event) || !OidIsValid(cache.slice_table))
        raise_not_installed();
    cache.target.slice = slice_written_now(cache.slice_table);
    cache.target.relation = table_of_slice(cache.target.slice);

    Relation relation = table_open(cache.target.relation, RowExclusiveLock);
    cache.memory = AllocSetContextCreate(CacheMemoryContext, "outbox write target", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(cache.memory);
    learn_columns(relation, &cache.target);
    learn_indexes(relation, &cache.target);
    MemoryContextSwitchTo(caller);
    table_close(relation, NoLock);
}

bool locked_here()
{
    return locked_at.subtransaction == GetCurrentSubTransactionId() &&
           FullTransactionIdEquals(locked_at.transaction, GetTopFullTransactionIdIfAny());
}

void lock_indexes(const WriteTarget &target)
{
    for (int i = 0; i < target.index_count; i++)
        LockRelationOid(target.indexes[i], RowExclusiveLock);
}

void make_cache()
{
    static bool registered = false;
    if (!registered) {
        CacheRegisterRelcacheCallback(on_relcache_invalidation, 0);
        registered = true;
    }

    complete = false;
    locked_at = {};
    if (cache.memory != nullptr)
        MemoryContextDelete(cache.memory);
    cache = {};
    invalidated = false;
    learn();
    complete = true;
}

} // namespace

const WriteTarget &write_target()
{
    if (!complete || invalidated)
        make_cache();
    // An extension that was dropped and created again is another log.
    if (raised_for != cache.target.event) {
        raise_clock(highest_id(cache.target.event));
        raised_for = cache.target.event;
    }
    return cache.target;
}

Relation open_write_target(const WriteTarget **target)
{
    *target = &write_target();
    // Asking the lock manager for each row would cost as much as one of the indexes' entries.
    if (locked_here())
        return table_open((*target)->relation, NoLock);

    Relation slice = try_table_open((*target)->relation, RowExclusiveLock);
    if (slice != nullptr && !invalidated) {
        lock_indexes(**target);
    } else {
        // Waiting for the lock brought news. What is learned now is learned under the lock of the slice, which is kept:
        // whatever is reported from here on is no change of it.
        if (slice != nullptr)
            table_close(slice, NoLock);
        make_cache();
        slice = table_open(cache.target.relation, NoLock);
    }
    locked_at = {.transaction = GetTopFullTransactionId(), .subtransaction = GetCurrentSubTransactionId()};
    return slice;
}

} // namespace outbox::log
