#include "capture/tracked_table.hpp"

#include "capture/target.hpp"
#include "capture/trigger_rule.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_trigger.h"
#include "executor/executor.h"
}

namespace outbox::capture {

namespace {

const Trigger *find_row_trigger(Relation table)
{
    const Oid capture = pg::function_oid("capture");
    const TriggerDesc *triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
        if (triggers->triggers[i].tgfoid == capture && TRIGGER_FOR_ROW(triggers->triggers[i].tgtype))
            return &triggers->triggers[i];
    return nullptr;
}

} // namespace

Relation open_tracked(Oid table_oid)
{
    Relation table = open_target(table_oid);
    if (!pg::compat::owns_table(table_oid, GetUserId()))
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("must be owner of table \"%s\"", RelationGetRelationName(table)),
                errhint("Events are made with the owner's privileges: call the function as the owner."));
    return table;
}

CapturePlan *plan_of_table(Relation table)
{
    const Trigger *trigger = find_row_trigger(table);
    if (trigger == nullptr)
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("table \"%s\" is not tracked", RelationGetRelationName(table)),
                errhint("Track it with outbox.track(); the view outbox.rules lists the tracked tables."));
    Rule rule = parse_trigger_rule(*trigger);
    return compile_trigger_rule(&rule, *trigger, table);
}

TupleTableSlot *slot_of_row(Relation table, Datum row)
{
    HeapTupleHeader header = DatumGetHeapTupleHeader(row);
    HeapTupleData tuple{};
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    ItemPointerSetInvalid(&tuple.t_self);
    tuple.t_tableOid = RelationGetRelid(table);
    tuple.t_data = header;
    TupleTableSlot *slot =
        MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(table)), &TTSOpsHeapTuple);
    return ExecStoreHeapTuple(heap_copytuple(&tuple), slot, false);
}

} // namespace outbox::capture
