#include "capture/plan.hpp"

#include "capture/condition.hpp"
#include "capture/mask.hpp"
#include "capture/queries.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/guc.h"
}

namespace outbox::capture {

namespace {

constexpr int event_type_limit = 255; // bytes: an AMQP routing key
constexpr int first_payload_size = 1024;

Column describe_column(TupleDesc columns, int index)
{
    Form_pg_attribute attribute = TupleDescAttr(columns, index);
    StringInfoData key;
    initStringInfo(&key);
    append_bytes(&key, ",", 1);
    write_json_string(&key, NameStr(attribute->attname), strlen(NameStr(attribute->attname)));
    append_bytes(&key, ":", 1);
    return Column{.index = static_cast<std::int16_t>(index),
                  .length = attribute->attlen,
                  .by_value = attribute->attbyval,
                  .format = format_of_type(attribute->atttypid),
                  .key = key.data,
                  .key_size = key.len};
}

Column compile_column(TupleDesc columns, int index, CapturePlan *plan)
{
    const Column column = describe_column(columns, index);
    if (column.format.format == Format::other)
        plan->settings |= settings_of_type(TupleDescAttr(columns, index)->atttypid, &plan->relations);
    plan->attributes = std::max(plan->attributes, index + 1);
    return column;
}

ColumnList compile_list(const Value &names, TupleDesc columns, CapturePlan *plan)
{
    ColumnList list{.count = 0, .columns = nullptr};
    if (names.count == 0)
        return list;
    list.columns = static_cast<Column *>(palloc(sizeof(Column) * names.count));
    for (int i = 0; i < names.count; i++)
        list.columns[list.count++] = compile_column(columns, find_column(columns, names.items[i]), plan);
    return list;
}

// How data and previous_attributes show the column.
ValueFormat shown_format(const Rule &rule, const char *name, const ValueFormat &plain)
{
    for (int i = 0; i < rule.mask.count; i++)
        if (strcmp(rule.mask.names[i], name) == 0)
            return mask_format(plain, rule.mask.items[i]);
    return rule.numbers.is("string") ? number_as_string(plain) : plain;
}

void compile_captured_columns(const Rule &rule, Relation table, CapturePlan *plan)
{
    TupleDesc columns = RelationGetDescr(table);
    plan->columns = static_cast<Column *>(palloc(sizeof(Column) * std::max(columns->natts, 1)));
    for (int i = 0; i < columns->natts; i++) {
        if (!can_capture(TupleDescAttr(columns, i)))
            continue;
        const char *name = NameStr(TupleDescAttr(columns, i)->attname);
        if (!rule.captures(name))
            continue;
        Column *column = &plan->columns[plan->column_count++];
        *column = compile_column(columns, i, plan);
        column->format = shown_format(rule, name, column->format);
    }
    if (plan->column_count == 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("the rule leaves no column of table \"%s\" to capture", RelationGetRelationName(table)),
                errhint("Exclude fewer columns."));
}

// Two members of one name would leave it to the reader which one counts.
void refuse_enriched_columns(const Rule &rule, Relation table, const CapturePlan &plan)
{
    for (int i = 0; i < plan.column_count; i++) {
        const char *column = NameStr(TupleDescAttr(RelationGetDescr(table), plan.columns[i].index)->attname);
        for (int name = 0; name < rule.enrich.count; name++)
            if (strcmp(rule.enrich.names[name], column) == 0)
                ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN),
                        errmsg("rule key \"enrich\" names \"%s\", which is a captured column", column),
                        errhint("Exclude the column, or choose another name."));
    }
}

// A setting that only superusers may read must not reach an event, whoever makes the change.
const char *compile_setting(const Value &setting)
{
    if (setting.count == 0)
        return nullptr;
    if ((GetConfigOptionFlags(setting.text(), true) & GUC_SUPERUSER_ONLY) != 0)
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("setting \"%s\" cannot be used in a rule", setting.text()),
                errdetail("Its value may be read by superusers only; events are read by others."),
                errhint("Name a setting of your own for \"initiator_type_setting\", such as \"app.initiator_type\"."));
    return pstrdup(setting.text());
}

text *optional_text(const Value &value)
{
    return value.count > 0 ? cstring_to_text(value.text()) : nullptr;
}

// What an event is called and says of itself, whatever its row is.
void compile_names(const Rule &rule, CapturePlan *plan)
{
    for (int i = 0; i < operation_count; i++) {
        if (rule.verbs[i].count == 0)
            continue;
        plan->verbs[i] = pstrdup(rule.verbs[i].text());
        plan->event_types[i] = event_type_of(rule.prefix.text(), rule.verbs[i].text());
    }
    plan->entity_type = cstring_to_text(rule.entity.text());
    plan->schema_version = optional_text(rule.schema_version);
    plan->initiator_type_setting = compile_setting(rule.initiator_type_setting);
}

CapturePlan *empty_plan(const Rule &rule)
{
    auto *plan = static_cast<CapturePlan *>(palloc0(sizeof(CapturePlan)));
    plan->payload_size = first_payload_size;
    plan->relations = list_make1_oid(rule.table);
    return plan;
}

} // namespace

ColumnList describe_columns(TupleDesc columns)
{
    ColumnList list{.count = 0, .columns = static_cast<Column *>(palloc(sizeof(Column) * std::max(columns->natts, 1)))};
    for (int i = 0; i < columns->natts; i++)
        list.columns[list.count++] = describe_column(columns, i);
    return list;
}

text *event_type_of(const char *prefix, const char *verb)
{
    const char *type = psprintf("%s.%s", prefix, verb);
    if (strlen(type) > event_type_limit)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("event type \"%s\" is too long", type),
                errdetail("It has %zu bytes; %d are allowed.", strlen(type), event_type_limit),
                errhint("Shorten the rule's \"prefix\" (or what its \"variant\" gives) or its verb."));
    return cstring_to_text(type);
}

Row row_of(const CapturePlan &plan, TupleTableSlot *slot)
{
    slot_getsomeattrs(slot, plan.attributes);
    return Row{.values = slot->tts_values, .nulls = slot->tts_isnull};
}

CapturePlan *compile_plan(const Rule &rule, Relation table)
{
    check_columns(rule, table);

    TupleDesc columns = RelationGetDescr(table);
    CapturePlan *plan = empty_plan(rule);
    compile_captured_columns(rule, table, plan);
    refuse_enriched_columns(rule, table, *plan);
    plan->condition = compile_condition(rule, table);
    plan->watch = compile_list(rule.watch, columns, plan);
    plan->entity_id = compile_list(rule.entity_id, columns, plan);
    plan->ordering_key = compile_list(rule.ordering_key, columns, plan);
    plan->workspace_id = compile_list(rule.workspace_id, columns, plan);
    plan->project_id = compile_list(rule.project_id, columns, plan);
    plan->initiator_id = compile_list(rule.initiator_id, columns, plan);
    plan->soft_delete = -1;
    if (rule.soft_delete.count > 0) {
        plan->soft_delete = find_column(columns, rule.soft_delete.text());
        plan->attributes = std::max(plan->attributes, plan->soft_delete + 1);
    }

    compile_names(rule, plan);
    plan->max_payload_size = rule.max_event_size.count > 0 ? pg_strtoint32(rule.max_event_size.text()) : 0;
    plan->truncate_oversize = rule.on_oversize.is("truncate");
    plan->record_failures = rule.on_failure.is("record");
    plan->queries = compile_queries(rule, table);
    return plan;
}

CapturePlan *compile_table_plan(const Rule &rule)
{
    CapturePlan *plan = empty_plan(rule);
    compile_names(rule, plan);
    return plan;
}

} // namespace outbox::capture
