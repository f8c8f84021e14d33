#include "capture/schema_guard.hpp"

#include "capture/ddl_report.hpp"
#include "capture/search_path.hpp"
#include "capture/target.hpp"

extern "C" {
#include "access/relation.h"
#include "nodes/parsenodes.h"
}

namespace outbox::capture {

namespace {

void check_rules(Relation table, const char *verb, const char *schema)
{
    TriggerRule *rules = nullptr;
    const int count = rules_of(table, &rules);
    for (int i = 0; i < count; i++)
        if (rules[i].rule.has_sql() && names_schema(rules[i].rule, schema))
            ereport(
                ERROR, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                errmsg("cannot %s schema \"%s\": the rule of table %s names it", verb, schema, qualified_name(table)),
                errdetail("SQL in the rule of trigger \"%s\" finds its names by the rule's key \"search_path\".",
                          rules[i].trigger->tgname),
                errhint("%s", hint_for(*rules[i].trigger)));
}

void check_schema(const char *verb, const char *schema)
{
    ListCell *cell = nullptr;
    foreach (cell, captured_tables()) {
        Relation table = try_relation_open(lfirst_oid(cell), AccessShareLock);
        if (table == nullptr)
            continue;
        check_rules(table, verb, schema);
        relation_close(table, AccessShareLock);
    }
}

} // namespace

void guard_renamed_schema(Node *command)
{
    if (IsA(command, RenameStmt) && castNode(RenameStmt, command)->renameType == OBJECT_SCHEMA)
        check_schema("rename", castNode(RenameStmt, command)->subname);
}

void guard_dropped_schemas()
{
    List *schemas = reported("SELECT objid, object_name FROM pg_catalog.pg_event_trigger_dropped_objects()"
                             " WHERE classid = 'pg_catalog.pg_namespace'::regclass");
    ListCell *cell = nullptr;
    foreach (cell, schemas)
        check_schema("drop", static_cast<Reported *>(lfirst(cell))->name);
}

} // namespace outbox::capture
