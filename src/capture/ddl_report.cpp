#include "capture/ddl_report.hpp"

#include "capture/target.hpp"
#include "capture/trigger_rule.hpp"
#include "pg/attempt.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "executor/spi.h"
#include "utils/fmgroids.h"
}

namespace outbox::capture {

List *reported(const char *query)
{
    MemoryContext caller = CurrentMemoryContext;
    List *objects = NIL;
    SPI_connect();
    if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not run: %s", query);
    MemoryContextSwitchTo(caller);
    for (std::uint64_t row = 0; row < SPI_processed; row++) {
        HeapTuple tuple = SPI_tuptable->vals[row];
        bool null = false;
        auto *object = static_cast<Reported *>(palloc(sizeof(Reported)));
        object->object = DatumGetObjectId(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &null));
        object->name = SPI_getvalue(tuple, SPI_tuptable->tupdesc, 2);
        objects = lappend(objects, object);
    }
    SPI_finish();
    return objects;
}

List *scan_catalog(Oid catalog, AttrNumber column, Oid value, Oid (*oid_of)(HeapTuple))
{
    List *oids = NIL;
    ScanKeyData key;
    ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
    Relation rows = table_open(catalog, AccessShareLock);
    SysScanDesc scan = systable_beginscan(rows, InvalidOid, false, nullptr, 1, &key);
    while (HeapTuple tuple = systable_getnext(scan))
        oids = list_append_unique_oid(oids, oid_of(tuple));
    systable_endscan(scan);
    table_close(rows, AccessShareLock);
    return oids;
}

List *captured_tables()
{
    return scan_catalog(TriggerRelationId, Anum_pg_trigger_tgfoid, pg::function_oid("capture"),
                        [](HeapTuple tuple) { return reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgrelid; });
}

int rules_of(Relation table, TriggerRule **rules)
{
    const Oid capture = pg::function_oid("capture");
    // Looking at a rule may rebuild the relation's cache.
    const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
    const int room = triggers != nullptr ? triggers->numtriggers : 0;
    *rules = static_cast<TriggerRule *>(palloc(sizeof(TriggerRule) * std::max(room, 1)));
    int count = 0;
    for (int i = 0; i < room; i++) {
        const Trigger &trigger = triggers->triggers[i];
        if (trigger.tgfoid != capture || trigger.tgisclone)
            continue;
        Rule rule;
        if (pg::attempt([&] { rule = parse_trigger_rule(trigger); }) != nullptr)
            continue; // it never worked
        rule.owner = table->rd_rel->relowner;
        (*rules)[count++] = TriggerRule{.trigger = &trigger, .rule = rule};
    }
    return count;
}

const char *hint_for(const Trigger &trigger)
{
    if (strcmp(trigger.tgname, row_trigger_name) == 0 || strcmp(trigger.tgname, truncate_trigger_name) == 0)
        return "Give the table a rule that can do without it first, by outbox.track(), or end its capture by "
               "outbox.untrack().";
    return "Replace the trigger by one whose rule can do without it first, or drop the trigger.";
}

} // namespace outbox::capture
