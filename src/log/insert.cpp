#include "log/insert.hpp"

#include "pg/extension.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
}

namespace outbox::log {

namespace {

void insert_entry(Relation table, Relation index, IndexInfo *info, TupleTableSlot *row, EState *estate)
{
    Datum values[INDEX_MAX_KEYS];
    bool is_null[INDEX_MAX_KEYS];
    FormIndexDatum(info, row, estate, values, is_null);
    index_insert(index, values, is_null, &row->tts_tid, table,
                 index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
}

// An index on expressions or with a predicate: none of ours, but an owner may add one.
void insert_computed_entry(Relation table, Relation index, TupleTableSlot *row)
{
    EState *estate = CreateExecutorState();
    ExprContext *context = GetPerTupleExprContext(estate);
    context->ecxt_scantuple = row;
    IndexInfo *info = BuildIndexInfo(index);
    ExprState *predicate = ExecPrepareQual(info->ii_Predicate, estate);
    if (ExecQual(predicate, context))
        insert_entry(table, index, info, row, estate);
    FreeExecutorState(estate);
}

Relation open_own_table(const char *name)
{
    const Oid oid = pg::table_oid(name);
    if (!OidIsValid(oid))
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("table outbox.%s does not exist", name),
                errdetail("The library is newer than the extension in this database."),
                errhint("Run ALTER EXTENSION outbox_relay UPDATE."));
    return table_open(oid, RowExclusiveLock);
}

} // namespace

void insert_into_index(Relation table, Relation index, IndexInfo *info, TupleTableSlot *row)
{
    if (likely(info->ii_Expressions == NIL && info->ii_Predicate == NIL))
        insert_entry(table, index, info, row, nullptr);
    else
        insert_computed_entry(table, index, row);
}

void insert_row(const char *table_name, const NamedValue *values, int count)
{
    Relation table = open_own_table(table_name);
    TupleTableSlot *row = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsVirtual);
    std::memset(row->tts_isnull, true, RelationGetDescr(table)->natts);
    for (int i = 0; i < count; i++) {
        const AttrNumber number = get_attnum(RelationGetRelid(table), values[i].column);
        if (number == InvalidAttrNumber || values[i].null)
            continue;
        row->tts_values[number - 1] = values[i].value;
        row->tts_isnull[number - 1] = false;
    }
    table_tuple_insert(table, ExecStoreVirtualTuple(row), GetCurrentCommandId(true), 0, nullptr);

    List *indexes = RelationGetIndexList(table);
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), RowExclusiveLock);
        IndexInfo *info = BuildIndexInfo(index);
        if (info->ii_ReadyForInserts)
            insert_into_index(table, index, info, row);
        index_close(index, NoLock);
    }
    ExecDropSingleTupleTableSlot(row);
    table_close(table, NoLock);
}

} // namespace outbox::log
