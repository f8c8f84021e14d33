// outbox.guard_rules(): the event triggers that keep DDL from breaking a rule.
//
// A rule names columns by their names. If one were renamed or dropped, the next change of the table would fail; so the
// command that does it is refused while its author is there to read why. A rule that named missing columns before, or
// could not be read at all, does not stand in the way: the command may be there to mend it. What a rule does not name
// is free to change.
//
// sql_drop sees every dropped column, whatever command dropped it (DROP TYPE ... CASCADE does too). A table dropped
// as a whole lists none, and a trigger dropped by the same command is not found any more. ddl_command_end sees columns
// renamed, and retyped: SQL in a rule may not fit the new type. The server lists only the table that the command
// names; the change also reaches its inheritors, and the tables of a composite type.
//
// It also sees a trigger that somebody creates by hand, and refuses one with SQL from anybody but the table's owner.
// Schemas that a rule's search_path names are guarded the same way (schema_guard.hpp). And failures of a table that is
// dropped go with it (owed_events.hpp).
//
// Server regime.
#include "capture/canonical_settings.hpp"
#include "capture/ddl_report.hpp"
#include "capture/owed_events.hpp"
#include "capture/plan.hpp"
#include "capture/schema_guard.hpp"
#include "capture/trigger_rule.hpp"
#include "pg/attempt.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/event_trigger.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace outbox::capture {

namespace {

struct ColumnChange {
    enum { dropped, renamed, retyped } kind;
    const char *column; // the name it had
};

// Refuses the change if the rule names its column, and nothing goes by that name any more. Returns whether all columns
// that the rule names are there.
bool check_named_columns(const Rule &rule, const Trigger &trigger, Relation table, const ColumnChange &change)
{
    bool complete = true;
    ColumnKey keys[column_key_count];
    const int count = column_keys(rule, keys);
    for (int key = 0; key < count; key++)
        for (int i = 0; i < keys[key].count; i++) {
            const char *name = keys[key].columns[i];
            if (find_column(RelationGetDescr(table), name) >= 0)
                continue;
            complete = false;
            if (strcmp(name, change.column) != 0)
                continue;
            ereport(
                ERROR, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                errmsg("cannot %s column \"%s\" of table \"%s\": the rule of its capture names it",
                       change.kind == ColumnChange::dropped ? "drop" : "rename", name, RelationGetRelationName(table)),
                errdetail("Key \"%s\" of the rule of trigger \"%s\" names the column.", keys[key].name, trigger.tgname),
                errhint("%s", hint_for(trigger)));
        }
    return complete;
}

// Refuses what leaves the rule unable to work though its columns are all there: no column is left to capture, the key
// is gone that it took as its default, its SQL does not fit any more.
void check_plan(Rule *rule, const Trigger &trigger, Relation table)
{
    const ErrorData *error = pg::attempt([&] { (void)compile_trigger_rule(rule, trigger, table); });
    if (error != nullptr)
        ereport(ERROR, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                errmsg("cannot change table \"%s\" like this: the rule of its capture would not work any more",
                       RelationGetRelationName(table)),
                errdetail("Trigger \"%s\" would raise: %s.", trigger.tgname, error->message),
                errhint("%s", hint_for(trigger)));
}

// A partition's triggers are copies of its parent's, and its columns follow the parent's: that one is checked.
void check_table(Oid oid, const ColumnChange &change)
{
    Relation table = try_relation_open(oid, AccessShareLock);
    if (table == nullptr)
        return;
    TriggerRule *rules = nullptr;
    const int count = rules_of(table, &rules);
    for (int i = 0; i < count; i++) {
        Rule *rule = &rules[i].rule;
        const Trigger &trigger = *rules[i].trigger;
        if (check_named_columns(*rule, trigger, table, change) &&
            (change.kind == ColumnChange::dropped || rule->has_sql()))
            check_plan(rule, trigger, table);
    }
    relation_close(table, AccessShareLock);
}

// The tables of a composite type.
List *typed_tables(Oid composite)
{
    return scan_catalog(RelationRelationId, Anum_pg_class_reloftype, get_rel_type_id(composite),
                        [](HeapTuple tuple) { return reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->oid; });
}

Oid table_of_trigger(Oid trigger)
{
    Relation triggers = table_open(TriggerRelationId, AccessShareLock);
    HeapTuple tuple = get_catalog_object_by_oid(triggers, Anum_pg_trigger_oid, trigger);
    table_close(triggers, AccessShareLock);
    return HeapTupleIsValid(tuple) ? reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgrelid : InvalidOid;
}

bool uses_composite(Oid oid, Oid composite)
{
    Relation table = try_relation_open(oid, AccessShareLock);
    if (table == nullptr)
        return false;
    List *looked_into = NIL;
    TupleDesc columns = RelationGetDescr(table);
    for (int i = 0; i < columns->natts; i++)
        if (!TupleDescAttr(columns, i)->attisdropped)
            (void)settings_of_type(TupleDescAttr(columns, i)->atttypid, &looked_into);
    relation_close(table, AccessShareLock);
    return list_member_oid(looked_into, composite);
}

// SQL of a rule may look at the attributes of a composite type wherever a column has it.
void check_users_of_composite(Oid composite, const ColumnChange &change)
{
    ListCell *cell = nullptr;
    foreach (cell, captured_tables())
        if (uses_composite(lfirst_oid(cell), composite))
            check_table(lfirst_oid(cell), change);
}

void guard_dropped_columns()
{
    List *columns = reported("SELECT objid, address_names[3] FROM pg_catalog.pg_event_trigger_dropped_objects()"
                             " WHERE classid = 'pg_catalog.pg_class'::regclass AND objsubid > 0");
    ListCell *cell = nullptr;
    foreach (cell, columns) {
        const auto *column = static_cast<Reported *>(lfirst(cell));
        const ColumnChange change{.kind = ColumnChange::dropped, .column = column->name};
        if (get_rel_relkind(column->object) == RELKIND_COMPOSITE_TYPE)
            check_users_of_composite(column->object, change);
        else
            check_table(column->object, change);
    }
}

void check_with_inheritors(Oid table, const ColumnChange &change)
{
    ListCell *cell = nullptr;
    foreach (cell, find_all_inheritors(table, NoLock, nullptr))
        check_table(lfirst_oid(cell), change);
}

// Returns false if the command changes no column's name or type.
bool find_change(Node *command, ColumnChange *change)
{
    if (IsA(command, RenameStmt)) {
        const auto *rename = castNode(RenameStmt, command);
        *change = ColumnChange{.kind = ColumnChange::renamed, .column = rename->subname};
        return rename->renameType == OBJECT_COLUMN || rename->renameType == OBJECT_ATTRIBUTE;
    }
    if (!IsA(command, AlterTableStmt))
        return false;
    ListCell *cell = nullptr;
    foreach (cell, castNode(AlterTableStmt, command)->cmds) {
        const auto *part = lfirst_node(AlterTableCmd, cell);
        *change = ColumnChange{.kind = ColumnChange::retyped, .column = part->name};
        if (part->subtype == AT_AlterColumnType)
            return true;
    }
    return false;
}

void guard_alterations(Node *command)
{
    ColumnChange change;
    if (!find_change(command, &change))
        return;
    List *relations = reported("SELECT objid, NULL::text FROM pg_catalog.pg_event_trigger_ddl_commands()"
                               " WHERE classid = 'pg_catalog.pg_class'::regclass");
    ListCell *cell = nullptr;
    foreach (cell, relations) {
        const Oid relation = static_cast<Reported *>(lfirst(cell))->object;
        if (get_rel_relkind(relation) != RELKIND_COMPOSITE_TYPE) {
            check_with_inheritors(relation, change);
            continue;
        }
        ListCell *table = nullptr;
        foreach (table, typed_tables(relation))
            check_with_inheritors(lfirst_oid(table), change);
        check_users_of_composite(relation, change);
    }
}

// SQL of a rule runs as the table's owner, but making a trigger takes no more than the privilege TRIGGER, and the
// server does not keep who made it.
void check_author(Oid trigger, Relation table)
{
    TriggerRule *rules = nullptr;
    const int count = rules_of(table, &rules);
    for (int i = 0; i < count; i++)
        if (rules[i].trigger->tgoid == trigger && rules[i].rule.has_sql() &&
            !pg::compat::owns_table(RelationGetRelid(table), GetUserId()))
            ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("only the owner of table \"%s\" can capture it by a rule with SQL",
                           RelationGetRelationName(table)),
                    errdetail("The SQL would run with the owner's privileges."),
                    errhint("Let the owner create the trigger, or leave the SQL out."));
}

void guard_new_triggers()
{
    List *created = reported("SELECT objid, NULL::text FROM pg_catalog.pg_event_trigger_ddl_commands()"
                             " WHERE classid = 'pg_catalog.pg_trigger'::regclass");
    ListCell *cell = nullptr;
    foreach (cell, created) {
        const Oid oid = static_cast<Reported *>(lfirst(cell))->object;
        Relation table = relation_open(table_of_trigger(oid), AccessShareLock);
        check_author(oid, table);
        relation_close(table, AccessShareLock);
    }
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_guard_rules)

Datum outbox_guard_rules(PG_FUNCTION_ARGS)
{
    using namespace outbox::capture;

    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        ereport(ERROR, errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                errmsg("outbox.guard_rules() can only be called as an event trigger"),
                errdetail("CREATE EXTENSION makes the event triggers that call it."),
                errhint("Do not call it, and make no event trigger with it."));
    const auto *call = reinterpret_cast<EventTriggerData *>(fcinfo->context);
    if (strcmp(call->event, "sql_drop") == 0) {
        guard_dropped_columns();
        guard_dropped_schemas();
        forget_dropped_tables();
    } else if (IsA(call->parsetree, CreateTrigStmt)) {
        guard_new_triggers();
    } else {
        guard_alterations(call->parsetree);
        guard_renamed_schema(call->parsetree);
    }
    PG_RETURN_NULL();
}
