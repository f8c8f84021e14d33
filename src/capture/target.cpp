#include "capture/target.hpp"

#include "pg/extension.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace outbox::capture {

namespace {

[[noreturn]] void refuse_kind(Relation relation, const char *hint)
{
    ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
            errmsg("changes of relation \"%s\" cannot be captured", RelationGetRelationName(relation)),
            errdetail_relkind_not_supported(relation->rd_rel->relkind), errhint("%s", hint));
    pg_unreachable();
}

[[noreturn]] void refuse_table(Relation table, const char *detail, const char *hint)
{
    ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
            errmsg("changes of table \"%s\" cannot be captured", RelationGetRelationName(table)),
            errdetail("%s", detail), errhint("%s", hint));
    pg_unreachable();
}

void check_kind(Relation relation)
{
    switch (relation->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE:
        break;
    case RELKIND_VIEW:
    case RELKIND_MATVIEW:
        refuse_kind(relation, "Track the tables that it reads.");
    case RELKIND_FOREIGN_TABLE:
        refuse_kind(relation, "Track the table where it is stored: other sessions change it there unseen.");
    default:
        refuse_kind(relation, "Track a table.");
    }
    if (IsSystemRelation(relation))
        refuse_table(relation, "It is a system catalog.", "Track a table of your own.");
    if (relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
        refuse_table(relation, "It is a temporary table: its rows are for one session only.",
                     "Track a permanent table, or write events with outbox.emit().");
    if (RelationGetNamespace(relation) == get_namespace_oid("outbox", true))
        refuse_table(relation, "It is a table of outbox_relay itself.", "Track a table of your own.");
}

} // namespace

Relation open_target(Oid table)
{
    pg::require_preload();
    Relation relation = try_relation_open(table, AccessShareLock);
    if (relation == nullptr)
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("there is no table with OID %u", table),
                errhint("Give the table's name: it is looked up when the function is called."));
    check_kind(relation);
    // CREATE TRIGGER asks the same, but only if there is something to change.
    const AclResult allowed = pg_class_aclcheck(table, GetUserId(), ACL_TRIGGER);
    if (allowed != ACLCHECK_OK)
        aclcheck_error(allowed, OBJECT_TABLE, RelationGetRelationName(relation));
    return relation;
}

const Trigger *find_trigger(Relation table, const char *name)
{
    const TriggerDesc *triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
        if (strcmp(triggers->triggers[i].tgname, name) == 0)
            return &triggers->triggers[i];
    return nullptr;
}

void refuse_tracked_partition(Relation table)
{
    const Trigger *trigger = find_trigger(table, row_trigger_name);
    if (trigger == nullptr || !trigger->tgisclone)
        return;
    const char *parent = get_rel_name(get_partition_parent(RelationGetRelid(table), true));
    ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
            errmsg("table \"%s\" is tracked through its partitioned table", RelationGetRelationName(table)),
            errdetail("It is a partition of \"%s\".", parent),
            errhint("Call outbox.track() or outbox.untrack() for the partitioned table that is tracked."));
}

void refuse_other_capture_triggers(Relation table)
{
    const Oid capture = pg::function_oid("capture");
    const TriggerDesc *triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
        const Trigger &trigger = triggers->triggers[i];
        const bool our_name =
            strcmp(trigger.tgname, row_trigger_name) == 0 || strcmp(trigger.tgname, truncate_trigger_name) == 0;
        if (our_name == (trigger.tgfoid == capture))
            continue;
        ereport(ERROR, errcode(ERRCODE_DUPLICATE_OBJECT),
                errmsg("table \"%s\" has a trigger \"%s\" that is in the way", RelationGetRelationName(table),
                       trigger.tgname),
                our_name ? errdetail("outbox.track() needs the name for its own trigger.")
                         : errdetail("It runs outbox.capture() too: each change would be captured twice."),
                our_name ? errhint("Rename that trigger first.") : errhint("Drop that trigger first."));
    }
}

void warn_of_earlier_triggers(Relation table)
{
    const TriggerDesc *triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
        const Trigger &trigger = triggers->triggers[i];
        if (strcmp(trigger.tgname, row_trigger_name) >= 0)
            break; // they are sorted by name
        if (TRIGGER_FOR_AFTER(trigger.tgtype) && TRIGGER_FOR_ROW(trigger.tgtype))
            ereport(WARNING,
                    errmsg("trigger \"%s\" of table \"%s\" fires before the capture", trigger.tgname,
                           RelationGetRelationName(table)),
                    errdetail("What it changes is captured before the change that fired it."),
                    errhint("Give it a name that sorts after \"%s\".", row_trigger_name));
    }
}

const char *qualified_name(Relation table)
{
    return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)), RelationGetRelationName(table));
}

} // namespace outbox::capture
