// What a rule says about a table: defaults taken from the table, and names that must be columns of it.
#include "capture/rule.hpp"

#include "capture/search_path.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
}

namespace outbox::capture {

namespace {

constexpr const char *default_verbs[operation_count] = {"created", "updated", "deleted", "truncated"};

// PostgreSQL 18: computed when read, so a trigger's tuple does not hold it.
constexpr char attribute_generated_virtual = 'v';

void default_to_column(Value *value, TupleDesc columns, const char *name)
{
    if (value->given)
        return;
    if (find_column(columns, name) >= 0)
        *value = single_value(name);
    value->given = true;
}

// The columns of an index, as names; none if it is not the kind of index that is looked for.
Value index_columns(Oid index_oid, TupleDesc columns, bool replica_identity)
{
    Value value{.given = true, .count = 0, .items = nullptr};
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index_oid));
    if (!HeapTupleIsValid(tuple))
        return value;

    auto *index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    if (replica_identity ? index->indisreplident : index->indisprimary) {
        value.items = static_cast<const char **>(palloc(sizeof(char *) * index->indnkeyatts));
        for (int i = 0; i < index->indnkeyatts; i++) {
            // Neither kind of index can have expressions or system columns.
            Form_pg_attribute column = TupleDescAttr(columns, index->indkey.values[i] - 1);
            value.items[value.count++] = pstrdup(NameStr(column->attname));
        }
    }
    ReleaseSysCache(tuple);
    return value;
}

Value require_key_columns(Relation table)
{
    const Value key = key_columns(table);
    if (key.count == 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_TABLE_DEFINITION),
                errmsg("table \"%s\" has no primary key", RelationGetRelationName(table)),
                errdetail("Each event names the row it is about."),
                errhint("Add a primary key, or name the identifying columns: {\"entity_id\": [\"...\"]}."));
    return key;
}

// These go into headers and routing as they are.
void refuse_masked_identity(const Rule &rule)
{
    for (const Value *value :
         {&rule.entity_id, &rule.ordering_key, &rule.workspace_id, &rule.project_id, &rule.initiator_id})
        for (int masked = 0; masked < rule.mask.count; masked++)
            if (const char *name = rule.mask.names[masked]; value->has(name))
                ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("column \"%s\" cannot be masked", name),
                        errdetail("It is part of the event's identity or context, which is sent as it is."),
                        errhint("Mask other columns, or identify the row by another one."));
}

} // namespace

bool can_capture(Form_pg_attribute column)
{
    return !column->attisdropped && column->attgenerated != attribute_generated_virtual;
}

const char *list_columns(TupleDesc columns)
{
    StringInfoData list;
    initStringInfo(&list);
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);
        if (can_capture(column))
            appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", NameStr(column->attname));
    }
    return list.data;
}

int find_column(TupleDesc columns, const char *name)
{
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);
        if (can_capture(column) && strcmp(NameStr(column->attname), name) == 0)
            return i;
    }
    return -1;
}

Value key_columns(Relation table)
{
    List *indexes = RelationGetIndexList(table);
    for (const bool replica_identity : {false, true}) {
        if (replica_identity && table->rd_rel->relreplident != REPLICA_IDENTITY_INDEX)
            break;
        ListCell *cell = nullptr;
        foreach (cell, indexes) {
            const Value value = index_columns(lfirst_oid(cell), RelationGetDescr(table), replica_identity);
            if (value.count > 0)
                return value;
        }
    }
    return Value{.given = true};
}

void complete_names(Rule *rule, const char *entity_name)
{
    if (!rule->entity.given)
        rule->entity = single_value(pstrdup(entity_name));
    if (!rule->prefix.given)
        rule->prefix = rule->entity;
    for (int i = 0; i < operation_count; i++)
        if (!rule->verbs[i].given)
            rule->verbs[i] = single_value(default_verbs[i]);
}

void complete_rule(Rule *rule, Relation table, const char *entity_name)
{
    TupleDesc columns = RelationGetDescr(table);

    rule->table = RelationGetRelid(table);
    rule->owner = table->rd_rel->relowner;
    complete_names(rule, entity_name);
    if (!rule->entity_id.given)
        rule->entity_id = require_key_columns(table);

    default_to_column(&rule->soft_delete, columns, "deleted_at");
    default_to_column(&rule->workspace_id, columns, "workspace_id");
    default_to_column(&rule->project_id, columns, "project_id");
    default_to_column(&rule->initiator_id, columns, "initiator_id");
    // Null, too: so the normal form of a rule without SQL is one to which SQL can be added.
    if (rule->search_path.count == 0 && rule->has_sql())
        rule->search_path = single_value(quote_identifier(get_namespace_name(RelationGetNamespace(table))));
    rule->search_path.given = true;
    refuse_masked_identity(*rule);
    check_search_path(*rule);
}

void check_columns(const Rule &rule, Relation table)
{
    TupleDesc columns = RelationGetDescr(table);
    ColumnKey keys[column_key_count];
    const int count = column_keys(rule, keys);
    for (int i = 0; i < count; i++)
        for (int item = 0; item < keys[i].count; item++) {
            const char *name = keys[i].columns[item];
            if (find_column(columns, name) < 0)
                ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("table \"%s\" has no column \"%s\" to capture", RelationGetRelationName(table), name),
                        errdetail("The rule's key \"%s\" names it.", keys[i].name),
                        errhint("Columns that can be captured: %s.", list_columns(columns)));
        }
}

} // namespace outbox::capture
