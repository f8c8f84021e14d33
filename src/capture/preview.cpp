// outbox.preview(): the event that a change would make, by the very code that makes events, without making it: no id is
// taken, no key is locked, nothing is written.
//
// Server regime.
#include "capture/new_event.hpp"
#include "capture/rule_context.hpp"
#include "capture/target.hpp"
#include "capture/tracked_table.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
}

namespace outbox::capture {

namespace {

struct OperationName {
    const char *name;
    Operation operation;
    bool old_row;
    bool new_row;
};

constexpr OperationName operations[] = {
    {"insert", Operation::insert, false, true},
    {"update", Operation::update, true, true},
    {"delete", Operation::remove, true, false},
    {"truncate", Operation::truncate, false, false},
};

const OperationName &parse_operation(const char *name)
{
    for (const OperationName &known : operations)
        if (pg_strcasecmp(known.name, name) == 0)
            return known;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown operation \"%s\"", name),
            errhint("Known operations: insert, update, delete, truncate."));
    pg_unreachable();
}

void check_rows(const OperationName &operation, bool old_row, bool new_row)
{
    if (operation.old_row == old_row && operation.new_row == new_row)
        return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("operation \"%s\" does not fit the rows given", operation.name),
            errhint("insert has a new row, delete an old one, update both, truncate none; the others are null."));
}

// jsonb_populate_record() takes no notice of other members, so a misspelt column would be null without a word.
void check_members(Relation table, Jsonb *json)
{
    if (!JB_ROOT_IS_OBJECT(json))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a row must be a JSON object"),
                errhint("Give its columns by name, such as {\"id\": 1}."));
    JsonbValue name;
    JsonbValue value;
    JsonbIterator *iterator = JsonbIteratorInit(&json->root);
    (void)JsonbIteratorNext(&iterator, &name, false);
    while (JsonbIteratorNext(&iterator, &name, true) == WJB_KEY) {
        (void)JsonbIteratorNext(&iterator, &value, true);
        const char *column = pnstrdup(name.val.string.val, name.val.string.len);
        if (find_column(RelationGetDescr(table), column) < 0)
            ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("table \"%s\" has no column \"%s\" to preview", RelationGetRelationName(table), column),
                    errhint("Columns that can be captured: %s.", list_columns(RelationGetDescr(table))));
    }
}

// A row of the table, from JSON; what that leaves out is taken from `base`, or null. In the caller's memory context.
Datum populate(Relation table, Datum base, bool no_base, Datum json)
{
    check_members(table, DatumGetJsonbP(json));
    MemoryContext caller = CurrentMemoryContext;
    Oid types[] = {table->rd_rel->reltype, JSONBOID};
    Datum values[] = {base, json};
    const char nulls[] = {no_base ? 'n' : ' ', ' '};

    SPI_connect();
    if (SPI_execute_with_args("SELECT pg_catalog.jsonb_populate_record($1, $2)", 2, types, values, nulls, true, 1) !=
            SPI_OK_SELECT ||
        SPI_processed != 1)
        elog(ERROR, "could not make a row of JSON");
    bool is_null = false;
    const Datum row = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const Datum copy = datumCopy(row, false, -1);
    MemoryContextSwitchTo(spi);
    SPI_finish();
    return copy;
}

void put_event(ReturnSetInfo *result, const log::NewEvent &event)
{
    const text *initiator_type = event.initiator_type != nullptr ? event.initiator_type : cstring_to_text("USER");
    const text *fields[] = {event.event_type, event.entity_type,   event.entity_id,  event.ordering_key,
                            event.payload,    event.workspace_id,  event.project_id, event.initiator_id,
                            initiator_type,   event.schema_version};
    Datum values[std::size(fields)];
    bool nulls[std::size(fields)];
    for (std::size_t i = 0; i < std::size(fields); i++) {
        values[i] = PointerGetDatum(fields[i]);
        nulls[i] = fields[i] == nullptr;
    }
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// Returns false if the change would make no event.
bool find_previewed(const CapturePlan &plan, Relation table, const OperationName &operation, Datum old_json,
                    Datum new_json, Change *change)
{
    *change = truncation();
    if (operation.operation == Operation::truncate)
        return true;
    const Datum old_row = operation.old_row ? populate(table, Datum{0}, true, old_json) : Datum{0};
    const Datum new_row = operation.new_row ? populate(table, old_row, !operation.old_row, new_json) : Datum{0};
    return find_change(plan, operation.old_row ? slot_of_row(table, old_row) : nullptr,
                       operation.new_row ? slot_of_row(table, new_row) : nullptr, change);
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_preview)

Datum outbox_preview(PG_FUNCTION_ARGS)
{
    using namespace outbox::capture;
    enum : int { target, op, old_json, new_json };

    outbox::pg::require_arguments(fcinfo, {"target", "op"});
    const OperationName &operation = parse_operation(text_to_cstring(PG_GETARG_TEXT_PP(op)));
    check_rows(operation, !PG_ARGISNULL(old_json), !PG_ARGISNULL(new_json));
    outbox::pg::compat::init_materialized_srf(fcinfo);

    Relation table = open_tracked(PG_GETARG_OID(target));
    // What the owner has put into the rule and the types must not run as a superuser who looks at it.
    const RuleContext context = enter_rule_context(table->rd_rel->relowner, "pg_catalog");
    CapturePlan *plan = plan_of_table(table);
    Change change;
    outbox::log::NewEvent event;
    if (find_previewed(*plan, table, operation, PG_GETARG_DATUM(old_json), PG_GETARG_DATUM(new_json), &change) &&
        make_event(plan, change, table, Purpose::preview, &event))
        put_event(reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo), event);
    leave_rule_context(context);
    relation_close(table, AccessShareLock);
    return Datum{0};
}
