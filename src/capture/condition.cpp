#include "capture/condition.hpp"

#include "capture/rule_context.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
}

namespace outbox::capture {

namespace {

[[noreturn]] void refuse(const char *detail, const char *hint)
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the rule's \"condition\" cannot be used"),
            errdetail("%s", detail), errhint("%s", hint));
    pg_unreachable();
}

// Errors point into the condition, not into the statement that the user has sent.
void describe_error(void *sql)
{
    if (const int position = geterrposition(); position > 0) {
        errposition(0);
        internalerrposition(position);
        internalerrquery(static_cast<const char *>(sql));
    }
    errcontext("rule key \"condition\"");
}

// The parser takes what may follow SELECT; nothing but one expression is wanted.
Node *parse_expression(const char *sql)
{
    auto *select = castNode(SelectStmt, linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_PLPGSQL_EXPR))->stmt);
    SelectStmt *plain = makeNode(SelectStmt);
    plain->targetList = select->targetList;
    if (list_length(select->targetList) != 1 || !equal(plain, select))
        refuse("It is more than one expression.",
               "Give an expression over the table's columns, such as \"kind = 'a'\".");
    Node *expression = linitial_node(ResTarget, select->targetList)->val;
    // Only a list of columns may be a star: elsewhere the server's analysis does not expect one.
    if (IsA(expression, ColumnRef) && IsA(llast(castNode(ColumnRef, expression)->fields), A_Star))
        refuse("It is the whole row.", "Use columns that are stored in the table.");
    return expression;
}

bool is_foreign_function(Oid function, void *)
{
    return function >= FirstNormalObjectId;
}

// True if evaluation may run code that is not the server's own.
bool calls_foreign_code(Node *node, void *context)
{
    if (node == nullptr)
        return false;
    if (IsA(node, CoerceToDomain) || check_functions_in_node(node, is_foreign_function, nullptr))
        return true;
    return pg::compat::walk_expression(node, calls_foreign_code, context);
}

void check_references(Node *expression, Relation table)
{
    Bitmapset *columns = nullptr;
    pull_varattnos(expression, 1, &columns);
    for (int member = -1; (member = bms_next_member(columns, member)) >= 0;) {
        const int number = member + FirstLowInvalidHeapAttributeNumber;
        if (number <= 0 || !can_capture(TupleDescAttr(RelationGetDescr(table), number - 1)))
            refuse("It refers to a system column, to a column that is computed when it is read, or to the whole row.",
                   "Use columns that are stored in the table.");
    }
    if (contain_mutable_functions(expression))
        refuse("It calls a function that is not immutable.",
               "The answer for a row must never change: compare columns with constants.");
}

Expr *analyze(const char *sql, Relation table)
{
    ParseState *state = make_parsestate(nullptr);
    state->p_sourcetext = sql;
    ParseNamespaceItem *row = addRangeTableEntryForRelation(state, table, AccessShareLock, nullptr, false, false);
    addNSItemToQuery(state, row, false, true, true);
    Node *expression = transformWhereClause(state, parse_expression(sql), EXPR_KIND_TRIGGER_WHEN, "condition");
    assign_expr_collations(state, expression);
    check_references(expression, table);
    free_parsestate(state);
    return expression_planner(reinterpret_cast<Expr *>(expression));
}

} // namespace

Condition *compile_condition(const Rule &rule, Relation table)
{
    if (rule.condition.count == 0)
        return nullptr;
    auto *condition = static_cast<Condition *>(palloc(sizeof(Condition)));
    condition->owner = rule.owner;
    condition->search_path = pstrdup(rule.search_path.text());
    // Constants are read now, by the settings that hold now; and functions of constants are called.
    const RuleContext context = enter_rule_context(condition->owner, condition->search_path);
    ErrorContextCallback description{
        .previous = error_context_stack, .callback = describe_error, .arg = const_cast<char *>(rule.condition.text())};
    error_context_stack = &description;
    Expr *expression = analyze(rule.condition.text(), table);
    condition->calls_foreign_code = calls_foreign_code(reinterpret_cast<Node *>(expression), nullptr);
    condition->expression = ExecInitExpr(expression, nullptr);
    condition->context = CreateStandaloneExprContext();
    error_context_stack = description.previous;
    leave_rule_context(context);
    return condition;
}

bool meets(const Condition &condition, TupleTableSlot *row)
{
    ResetExprContext(condition.context);
    condition.context->ecxt_scantuple = row;
    RuleContext context{};
    if (condition.calls_foreign_code)
        context = enter_rule_context(condition.owner, condition.search_path);
    bool is_null = false;
    const Datum result = ExecEvalExprSwitchContext(condition.expression, condition.context, &is_null);
    if (condition.calls_foreign_code)
        leave_rule_context(context);
    return !is_null && DatumGetBool(result);
}

} // namespace outbox::capture
