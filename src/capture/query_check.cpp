#include "capture/query_check.hpp"

extern "C" {
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "utils/plancache.h"
}

namespace outbox::capture {

namespace {

[[noreturn]] void refuse(const char *detail, const char *hint)
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("SQL in a rule must be one query that only reads"),
            errdetail("%s", detail), errhint("%s", hint));
    pg_unreachable();
}

// What the server would refuse too, but only when the first row changes; and what it would not.
void check_reads(Query *query)
{
    if (query->commandType != CMD_SELECT || query->hasModifyingCTE || query->rowMarks != NIL)
        refuse("It changes or locks rows.", "Give a SELECT without INSERT, UPDATE, DELETE and FOR UPDATE.");
    // In REPEATABLE READ it would see less than the query does, and publish what is no longer true.
    if (contain_volatile_functions(reinterpret_cast<Node *>(query)))
        refuse("It calls a function that is volatile.",
               "Declare a function of your own STABLE if it only reads; leave others, such as random(), out.");
}

const CachedPlanSource &only_statement(SPIPlanPtr plan)
{
    List *sources = SPI_plan_get_plan_sources(plan);
    const auto *source = list_length(sources) == 1 ? static_cast<CachedPlanSource *>(linitial(sources)) : nullptr;
    if (source == nullptr || source->commandTag != CMDTAG_SELECT || source->resultDesc == nullptr ||
        source->resultDesc->natts == 0)
        refuse("It is no query, or several.", "Give one SELECT, or for \"variant\" and \"enrich\" one expression.");
    return *source;
}

// (a, b) is a row to the server; here it is one value too many.
int count_values(const CachedPlanSource &statement)
{
    Expr *first = linitial_node(TargetEntry, linitial_node(Query, statement.query_list)->targetList)->expr;
    if (IsA(first, RowExpr) && castNode(RowExpr, first)->row_format == COERCE_IMPLICIT_CAST)
        return list_length(castNode(RowExpr, first)->args);
    return statement.resultDesc->natts;
}

// What a bracket in the text may have let in.
bool is_expression(const Query &query)
{
    return query.jointree->fromlist == NIL && query.jointree->quals == nullptr && query.groupClause == NIL &&
           query.groupingSets == NIL && query.havingQual == nullptr && query.windowClause == NIL &&
           query.distinctClause == NIL && query.sortClause == NIL && query.limitOffset == nullptr &&
           query.limitCount == nullptr && query.setOperations == nullptr && query.cteList == NIL && !query.hasAggs;
}

void check_one_value(const CachedPlanSource &statement)
{
    if (!is_expression(*linitial_node(Query, statement.query_list)))
        refuse("It is more than an expression.",
               "Close the brackets that it opens, and put a query into brackets of its own.");
    if (linitial_node(Query, statement.query_list)->hasTargetSRFs)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("SQL in a rule must give one value here"),
                errdetail("It calls a function that returns a set."),
                errhint("Aggregate the set, such as by ARRAY(SELECT ...)."));
    if (const int count = count_values(statement); count != 1)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("SQL in a rule must give one value here"),
                errdetail("It gives %d.", count),
                errhint("\"variant\" and each of \"enrich\" are one expression, or one query of one column."));
}

// Columns become the members of an object.
void check_members(const CachedPlanSource &statement)
{
    TupleDesc columns = statement.resultDesc;
    if (is_whole_object(describe_columns(columns)))
        return;
    for (int i = 0; i < columns->natts; i++) {
        const char *name = NameStr(TupleDescAttr(columns, i)->attname);
        if (strcmp(name, "?column?") == 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("column %d of the query has no name", i + 1),
                    errhint("Name it by AS: columns become the members of an object."));
        for (int earlier = 0; earlier < i; earlier++)
            if (strcmp(name, NameStr(TupleDescAttr(columns, earlier)->attname)) == 0)
                ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN), errmsg("the query gives column \"%s\" twice", name),
                        errhint("Name each column differently: they become the members of an object."));
    }
}

// The server asks for the privileges when a query starts. Its owner's are to be missed by who writes the rule, not by
// who changes the first row.
void check_privileges(SPIPlanPtr plan)
{
    Datum values[] = {Datum{0}, Datum{0}};
    SPI_cursor_close(SPI_cursor_open(nullptr, plan, values, "nn", true));
}

} // namespace

bool is_whole_object(const ColumnList &columns)
{
    if (columns.count != 1)
        return false;
    const Format format = columns.columns[0].format.format;
    return format == Format::json || format == Format::jsonb;
}

void check_rule_query(SPIPlanPtr plan, QueryGives gives)
{
    const CachedPlanSource &statement = only_statement(plan);
    check_reads(linitial_node(Query, statement.query_list));
    if (gives == QueryGives::one_value)
        check_one_value(statement);
    else if (gives == QueryGives::members)
        check_members(statement);
    check_privileges(plan);
}

} // namespace outbox::capture
