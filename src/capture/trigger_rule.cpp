#include "capture/trigger_rule.hpp"

#include "pg/attempt.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "utils/fmgrprotos.h"
#include "utils/syscache.h"
}

namespace outbox::capture {

namespace {

// The table that the trigger was created on: a partition's trigger is a copy of its parent's.
Oid table_of_rule(const Trigger &copy, Relation relation)
{
    Oid table = RelationGetRelid(relation);
    if (!copy.tgisclone)
        return table;

    Relation triggers = table_open(TriggerRelationId, AccessShareLock);
    for (Oid trigger = copy.tgoid; OidIsValid(trigger);) {
        HeapTuple tuple = get_catalog_object_by_oid(triggers, Anum_pg_trigger_oid, trigger);
        if (!HeapTupleIsValid(tuple))
            break;
        table = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgrelid;
        trigger = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgparentid;
    }
    table_close(triggers, AccessShareLock);
    return table;
}

Jsonb *json_of_argument(const char *argument)
{
    return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(argument)));
}

} // namespace

Rule parse_trigger_rule(const Trigger &trigger)
{
    if (trigger.tgnargs != 1)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("outbox.capture() takes one argument, the rule; it has %d", trigger.tgnargs),
                errhint("Create the trigger with EXECUTE FUNCTION outbox.capture('{}'), or by outbox.track()."));
    return parse_rule(json_of_argument(trigger.tgargs[0]));
}

CapturePlan *compile_trigger_rule(Rule *rule, const Trigger &trigger, Relation table)
{
    const Oid written_for = table_of_rule(trigger, table);
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(written_for));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for relation %u", written_for);
    auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    const char *entity_name = pstrdup(NameStr(form->relname));
    const Oid owner = form->relowner;
    ReleaseSysCache(tuple);

    // TRUNCATE needs nothing of the rows, and goes by also if the rule does not fit them any more.
    const bool of_table = TRIGGER_FOR_TRUNCATE(trigger.tgtype);
    if (of_table)
        complete_names(rule, entity_name);
    else
        complete_rule(rule, table, entity_name);
    // Making a partition asks for no privilege on the rule: its owner must not lend the SQL his own.
    rule->table = written_for;
    rule->owner = owner;
    return of_table ? compile_table_plan(*rule) : compile_plan(*rule, table);
}

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_rule_of)

// For the view outbox.rules. One trigger with a rule that is no JSON must not hide the rules of all others.
Datum outbox_rule_of(PG_FUNCTION_ARGS)
{
    bytea *arguments = PG_GETARG_BYTEA_PP(0); // each ends in a null byte
    const char *first = pnstrdup(VARDATA_ANY(arguments), VARSIZE_ANY_EXHDR(arguments));
    Jsonb *rule = nullptr;
    if (outbox::pg::attempt([&] { rule = outbox::capture::json_of_argument(first); }) != nullptr)
        PG_RETURN_NULL();
    PG_RETURN_JSONB_P(rule);
}
