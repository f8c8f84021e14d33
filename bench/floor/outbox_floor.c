/*
 * The floor under capture: what it costs to write ready-made rows into a table like a slice of the log, and nothing
 * else. A loop of table_tuple_insert() and one index_insert() for each index: no reading of the changed row, no JSON,
 * no clock, no trigger call per row.
 *
 *   floor_prepare(event, log, rows)   the row that is written, where to, and how many times for each statement
 *   floor_write()                     the trigger, AFTER ... FOR EACH STATEMENT, that writes them
 *
 * Only the id differs from row to row: one of the indexes is unique.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/xid8.h"

PG_MODULE_MAGIC;

#define ID_COLUMN 0
#define XID_COLUMN 1
#define MOST_INDEXES 8

static Oid log_table;
static int rows_per_statement;
static TupleTableSlot *slot;
static Datum *values; /* of the ready-made row */
static bool *nulls;
static int64 last_id;
static int index_count;
static Oid indexes[MOST_INDEXES];
static IndexInfo *index_infos[MOST_INDEXES];

static void learn_indexes(Relation log)
{
    ListCell *cell;

    index_count = 0;
    foreach (cell, RelationGetIndexList(log)) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);

        if (index_count == MOST_INDEXES)
            elog(ERROR, "too many indexes");
        indexes[index_count] = RelationGetRelid(index);
        index_infos[index_count++] = BuildIndexInfo(index);
        index_close(index, AccessShareLock);
    }
}

/* As outbox_relay hands its rows over: in the slot, payload neither compressed nor stored outside. */
static void copy_row(HeapTupleHeader record, TupleDesc columns)
{
    HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};

    slot = MakeTupleTableSlot(columns, &TTSOpsVirtual);
    values = palloc(sizeof(Datum) * columns->natts);
    nulls = palloc(sizeof(bool) * columns->natts);
    heap_deform_tuple(&tuple, columns, values, nulls);
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);

        if (nulls[i] || column->attbyval)
            continue;
        if (column->attlen == -1)
            values[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(values[i]));
        else
            values[i] = datumCopy(values[i], false, column->attlen);
    }
    last_id = Max(last_id, DatumGetInt64(values[ID_COLUMN]));
}

PG_FUNCTION_INFO_V1(floor_prepare);
Datum floor_prepare(PG_FUNCTION_ARGS)
{
    HeapTupleHeader record = PG_GETARG_HEAPTUPLEHEADER(0);
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
    Relation log;

    log_table = PG_GETARG_OID(1);
    rows_per_statement = PG_GETARG_INT32(2);
    log = table_open(log_table, AccessShareLock);
    copy_row(record, CreateTupleDescCopy(RelationGetDescr(log)));
    learn_indexes(log);
    table_close(log, AccessShareLock);
    MemoryContextSwitchTo(caller);
    PG_RETURN_VOID();
}

static void write_row(Relation log, Relation *opened)
{
    ExecClearTuple(slot);
    memcpy(slot->tts_values, values, sizeof(Datum) * slot->tts_tupleDescriptor->natts);
    memcpy(slot->tts_isnull, nulls, sizeof(bool) * slot->tts_tupleDescriptor->natts);
    slot->tts_values[ID_COLUMN] = Int64GetDatum(++last_id);
    ExecStoreVirtualTuple(slot);

    table_tuple_insert(log, slot, GetCurrentCommandId(true), 0, NULL);
    for (int i = 0; i < index_count; i++) {
        Datum keys[INDEX_MAX_KEYS];
        bool null_keys[INDEX_MAX_KEYS];

        FormIndexDatum(index_infos[i], slot, NULL, keys, null_keys);
        index_insert(opened[i], keys, null_keys, &slot->tts_tid, log,
                     opened[i]->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, index_infos[i]);
    }
}

PG_FUNCTION_INFO_V1(floor_write);
Datum floor_write(PG_FUNCTION_ARGS)
{
    Relation log = table_open(log_table, RowExclusiveLock);
    Relation opened[MOST_INDEXES];

    values[XID_COLUMN] = FullTransactionIdGetDatum(GetTopFullTransactionId());
    for (int i = 0; i < index_count; i++)
        opened[i] = index_open(indexes[i], RowExclusiveLock);
    for (int i = 0; i < rows_per_statement; i++)
        write_row(log, opened);
    for (int i = 0; i < index_count; i++)
        index_close(opened[i], NoLock);
    table_close(log, NoLock);
    return PointerGetDatum(NULL);
}

/* A trigger call's own price, FOR EACH ROW. */
PG_FUNCTION_INFO_V1(floor_nothing);
Datum floor_nothing(PG_FUNCTION_ARGS)
{
    return PointerGetDatum(NULL);
}
