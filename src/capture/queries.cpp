#include "capture/queries.hpp"

#include "capture/payload.hpp"
#include "capture/query_check.hpp"
#include "capture/rule_context.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
}

namespace outbox::capture {

namespace {

// Describes where an error of a rule's SQL comes from. Who reads "permission denied" may not be who lacks it.
struct KeyContext {
    KeyContext(const char *key_name, const Queries &its_queries) : key(key_name), queries(its_queries)
    {
        callback.previous = error_context_stack;
        callback.callback = [](void *self) { static_cast<KeyContext *>(self)->describe(); };
        callback.arg = this;
        error_context_stack = &callback;
    }
    void describe() const
    {
        errcontext("rule key \"%s\" of table \"%s\", run as its owner with search_path %s", key, queries.table,
                   queries.search_path);
    }
    void end() const { error_context_stack = callback.previous; }

    const char *key;
    const Queries &queries;
    ErrorContextCallback callback{};
};

SPIPlanPtr prepare(const char *sql, Oid row_type, QueryGives gives)
{
    Oid types[] = {row_type, row_type};
    // Always the same plan: planning anew for each row would cost more than the query.
    SPIPlanPtr plan = SPI_prepare_cursor(sql, 2, types, CURSOR_OPT_GENERIC_PLAN);
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
    check_rule_query(plan, gives);
    return plan;
}

void free_plan(void *plan)
{
    (void)SPI_freeplan(static_cast<SPIPlanPtr>(plan));
}

const CachedPlanSource &source_of(SPIPlanPtr plan)
{
    return *static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
}

// The server looks names up again when what they meant has changed. In the owner's query a name must never come to
// mean a temporary object, which whoever changes the row may have made.
void refuse_temporary(Query *query)
{
    CachedPlan *plan = SPI_plan_get_cached_plan(query->plan);
    const CachedPlanSource &source = source_of(query->plan);
    ListCell *cell = nullptr;
    if (query->generation != source.generation)
        foreach (cell, source.relationOids)
            if (get_rel_persistence(lfirst_oid(cell)) == RELPERSISTENCE_TEMP)
                ereport(
                    ERROR, errcode(ERRCODE_INVALID_TABLE_DEFINITION),
                    errmsg("SQL in a rule cannot read the temporary relation \"%s\"", get_rel_name(lfirst_oid(cell))),
                    errhint("Name a permanent table, with its schema if the rule's \"search_path\" lacks that."));
    query->generation = source.generation;
    ReleaseCachedPlan(plan, CurrentResourceOwner);
}

// The plan lives as long as the memory context of the queries.
void keep(Query *query, SPIPlanPtr plan, Queries *queries)
{
    auto *callback =
        static_cast<MemoryContextCallback *>(MemoryContextAlloc(queries->context, sizeof(MemoryContextCallback)));
    if (SPI_keepplan(plan) != 0)
        elog(ERROR, "SPI_keepplan failed");
    callback->func = free_plan;
    callback->arg = plan;
    MemoryContextRegisterResetCallback(queries->context, callback);
    query->plan = plan;
    refuse_temporary(query);
    queries->reads_tables |= source_of(plan).relationOids != NIL || source_of(plan).invalItems != NIL;
}

// Each expression is prepared by itself first: its errors are then about what the user wrote.
const char *check_expression(const char *key, const char *sql, Oid row_type, const Queries &queries)
{
    const KeyContext context(key, queries);
    const bool has_comment = strstr(sql, "--") != nullptr; // which a line break ends
    const char *expression = psprintf(has_comment ? "(%s\n)" : "(%s)", sql);
    (void)prepare(psprintf("SELECT %s", expression), row_type, QueryGives::one_value);
    context.end();
    return expression;
}

void compile_values(const Rule &rule, Oid row_type, Queries *queries)
{
    StringInfoData sql;
    initStringInfo(&sql);
    appendStringInfoString(&sql, "SELECT ");
    if (queries->has_variant)
        appendStringInfo(&sql, "%s::text", check_expression("variant", rule.variant.text(), row_type, *queries));
    for (int i = 0; i < rule.enrich.count; i++) {
        const char *name = rule.enrich.names[i];
        const char *key = psprintf("enrich.%s", name);
        appendStringInfo(&sql, "%s%s AS %s", queries->has_variant || i > 0 ? ", " : "",
                         check_expression(key, rule.enrich.items[i], row_type, *queries), quote_identifier(name));
    }
    keep(&queries->values, prepare(sql.data, row_type, QueryGives::values), queries);
}

void compile_object(const char *key, const Value &sql, Oid row_type, Query *query, Queries *queries)
{
    if (sql.count == 0)
        return;
    const KeyContext context(key, *queries);
    keep(query, prepare(sql.text(), row_type, QueryGives::members), queries);
    context.end();
}

// The row as a value of its composite type. Values that are stored outside of it stay there until the SQL asks for
// them: the server would fetch them all, but does not look for them in a copy that says it has none. The value does
// not outlive the call.
Datum composite(TupleTableSlot *row)
{
    bool owned = false;
    HeapTuple tuple = ExecFetchSlotHeapTuple(row, false, &owned);
    if (HeapTupleHasExternal(tuple)) {
        tuple = heap_copytuple(tuple);
        tuple->t_data->t_infomask &= ~HEAP_HASEXTERNAL;
    }
    return heap_copy_tuple_as_datum(tuple, row->tts_tupleDescriptor);
}

// The queries' parameters.
struct Rows {
    Datum values[2];
    char nulls[2];
};

Rows rows_of(const Change &change)
{
    Rows rows{.values = {}, .nulls = {'n', 'n'}};
    int i = 0;
    for (TupleTableSlot *row : {change.new_row, change.old_row}) {
        if (row != nullptr) {
            rows.values[i] = composite(row);
            rows.nulls[i] = ' ';
        }
        i++;
    }
    return rows;
}

// The result's shape changes when a table that the query reads does.
void fit_columns(Query *query, TupleDesc result, MemoryContext context)
{
    if (query->result != nullptr && equalTupleDescs(query->result, result))
        return;
    MemoryContext caller = MemoryContextSwitchTo(context);
    query->result = CreateTupleDescCopy(result);
    query->columns = describe_columns(query->result);
    MemoryContextSwitchTo(caller);
}

// The only row of the result; its values live until SPI_finish. Returns false if there is none.
bool run(Query *query, Rows *rows, MemoryContext context, Row *row)
{
    refuse_temporary(query);
    const int code = SPI_execute_plan(query->plan, rows->values, rows->nulls, true, 2);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
    if (SPI_processed > 1)
        ereport(ERROR, errcode(ERRCODE_CARDINALITY_VIOLATION), errmsg("query gives more than one row"),
                errhint("An event is about one row: aggregate, or add a WHERE clause that finds one."));
    if (SPI_processed == 0)
        return false;

    TupleDesc result = SPI_tuptable->tupdesc;
    fit_columns(query, result, context);
    auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * result->natts));
    auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * result->natts));
    heap_deform_tuple(SPI_tuptable->vals[0], result, values, nulls);
    *row = Row{.values = values, .nulls = nulls};
    return true;
}

void answer_values(Queries *queries, Rows *rows, MemoryContext caller, Answers *answers)
{
    const KeyContext description(queries->has_variant ? "variant or enrich" : "enrich", *queries);
    Row row{};
    if (!run(&queries->values, rows, queries->context, &row))
        elog(ERROR, "expressions without FROM gave no row");
    const ColumnList &columns = queries->values.columns;
    for (int i = queries->has_variant ? 1 : 0; i < columns.count; i++)
        write_member(&answers->members, columns.columns[i], row, false);
    if (queries->has_variant && !row.is_null(columns.columns[0])) {
        MemoryContext spi = MemoryContextSwitchTo(caller);
        answers->variant = DatumGetTextPCopy(row.value(columns.columns[0]));
        MemoryContextSwitchTo(spi);
    }
    description.end();
}

void check_object(const StringInfoData &json)
{
    const std::string_view text(json.data + VARHDRSZ, json.len - VARHDRSZ);
    const std::size_t first = text.find_first_not_of(" \t\n\r");
    if (first == std::string_view::npos || text[first] != '{')
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("query must give a JSON object"),
                errdetail("It gives %.40s.", std::string(text).c_str()),
                errhint("Select the members as columns, or build an object with json_build_object()."));
}

// Null: there is no row.
text *answer_object(const char *key, Query *query, Rows *rows, MemoryContext caller, const Queries &queries)
{
    const KeyContext description(key, queries);
    text *object = nullptr;
    Row row{};
    if (run(query, rows, queries.context, &row)) {
        const ColumnList &columns = query->columns;
        const bool whole = is_whole_object(columns);
        if (!whole || !row.is_null(columns.columns[0])) {
            MemoryContext spi = MemoryContextSwitchTo(caller);
            StringInfoData out;
            start_text(&out, 0);
            MemoryContextSwitchTo(spi);
            if (whole) {
                write_json(&out, columns.columns[0].format, row.value(columns.columns[0]));
                check_object(out);
            } else {
                write_object(&out, columns, row);
            }
            object = finish_text(&out);
        }
    }
    description.end();
    return object;
}

} // namespace

Queries *compile_queries(const Rule &rule, Relation table)
{
    if (!rule.has_queries())
        return nullptr;
    auto *queries = static_cast<Queries *>(palloc0(sizeof(Queries)));
    queries->has_variant = rule.variant.count > 0;
    queries->table = pstrdup(RelationGetRelationName(table));
    queries->owner = rule.owner;
    queries->search_path = pstrdup(rule.search_path.text());
    queries->context = CurrentMemoryContext;

    const Oid row_type = table->rd_rel->reltype;
    const RuleContext context = enter_rule_context(queries->owner, queries->search_path);
    SPI_connect();
    if (queries->has_variant || rule.enrich.count > 0)
        compile_values(rule, row_type, queries);
    compile_object("data_query", rule.data_query, row_type, &queries->data, queries);
    compile_object("previous_query", rule.previous_query, row_type, &queries->previous, queries);
    SPI_finish();
    leave_rule_context(context);
    queries->serialize = queries->reads_tables && rule.serialize.is("true");
    return queries;
}

bool answer(Queries *queries, const Change &change, Answers *answers)
{
    *answers = {};
    initStringInfo(&answers->members);
    Rows rows = rows_of(change);

    MemoryContext caller = CurrentMemoryContext;
    const RuleContext context = enter_rule_context(queries->owner, queries->search_path);
    // What the statement itself has done must be seen, and what others have committed before they gave up the lock.
    CommandCounterIncrement();
    PushActiveSnapshot(GetLatestSnapshot());
    SPI_connect();
    bool found = true;
    if (queries->data.plan != nullptr) {
        answers->data = answer_object("data_query", &queries->data, &rows, caller, *queries);
        found = answers->data != nullptr;
    }
    if (found && queries->values.plan != nullptr)
        answer_values(queries, &rows, caller, answers);
    if (found && queries->previous.plan != nullptr)
        answers->previous = answer_object("previous_query", &queries->previous, &rows, caller, *queries);
    SPI_finish();
    PopActiveSnapshot();
    leave_rule_context(context);
    return found;
}

} // namespace outbox::capture
