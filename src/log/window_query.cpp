// Plans. A lane reads with millions of settled events behind its position, with stale statistics or none; so the
// shape of each plan is forced, not hoped for. OFFSET 0 fences a subquery: neither order nor limit reaches into it.
//
//   fresh    must go through the indexes on xid and sort few rows; a walk along the ids from the start of the
//            retained log, the obvious plan for ORDER BY id LIMIT n, would read everything settled. The fence makes
//            it impossible.
//   resume   must walk along the ids from `last` and stop at the limit: sorting what is left of a large window for
//            each of its chunks would be quadratic. Without sort and bitmap only the id indexes give the order.
//   reread   is the same for each of the ranges, which unnest() gives in ascending order.
//
// The plans are generic: they know no values, and so they never change while the lane runs.
#include "log/window_query.hpp"

#include "log/event_row.hpp"

extern "C" {
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
}

namespace outbox::log {

namespace {

// $1 done, $2 upper, $3 last, $4 outstanding, $5 rows
constexpr int parameter_count = 5;
const Oid parameter_types[parameter_count] = {PG_SNAPSHOTOID, PG_SNAPSHOTOID, INT8OID, INT8MULTIRANGEOID, INT8OID};

struct Statement {
    Step step;
    bool sorts;
    const char *sql;
    SPIPlanPtr plan;
};

Statement statements[] = {
    {Step::reread, false,
     "SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM unnest($4) AS range,"
     " LATERAL (SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM outbox.event"
     "  WHERE id >= lower(range) AND id < upper(range) ORDER BY id OFFSET 0) AS event"
     " WHERE pg_visible_in_snapshot(xid, $1) OR (id <= $3 AND pg_visible_in_snapshot(xid, $2))"
     " LIMIT $5",
     nullptr},
    {Step::resume, false,
     "SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM (SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM outbox.event"
     "  WHERE id > $3 ORDER BY id OFFSET 0) AS event"
     " WHERE NOT pg_visible_in_snapshot(xid, $1) AND pg_visible_in_snapshot(xid, $2)"
     " LIMIT $5",
     nullptr},
    {Step::fresh, true,
     "SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM (SELECT " OUTBOX_EVENT_ROW_COLUMNS " FROM outbox.event"
     "  WHERE xid >= pg_snapshot_xmax($1) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip($1))) OFFSET 0) AS event"
     " WHERE pg_visible_in_snapshot(xid, $2)"
     " ORDER BY id LIMIT $5",
     nullptr},
};

void pin(const char *setting, const char *value)
{
    set_config_option(setting, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// Settings that the plans are made with: a plan is made again, by any run, when statistics or tables change.
void pin_planner(const Statement &statement)
{
    const char *sorting = statement.sorts ? "on" : "off";
    pin("enable_seqscan", "off");
    pin("enable_indexscan", "on");
    pin("enable_bitmapscan", sorting);
    pin("enable_sort", sorting);
    pin("jit", "off");
    pin("max_parallel_workers_per_gather", "0");
}

SPIPlanPtr plan_of(Statement *statement)
{
    if (statement->plan == nullptr) {
        SPIPlanPtr plan = SPI_prepare_cursor(statement->sql, parameter_count, const_cast<Oid *>(parameter_types),
                                             CURSOR_OPT_GENERIC_PLAN);
        if (plan == nullptr)
            elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
        SPI_keepplan(plan);
        statement->plan = plan;
    }
    return statement->plan;
}

Datum from_text(Oid type, const char *value)
{
    Oid input = InvalidOid;
    Oid parameter = InvalidOid;
    getTypeInputInfo(type, &input, &parameter);
    return OidInputFunctionCall(input, const_cast<char *>(value), parameter, -1);
}

ParamListInfo parameters_of(const ChunkQuery &query, Datum current)
{
    ParamListInfo list = makeParamList(parameter_count);
    for (int i = 0; i < parameter_count; i++)
        list->params[i] = {.value = 0, .isnull = true, .pflags = PARAM_FLAG_CONST, .ptype = parameter_types[i]};
    auto set = [list](int number, Datum value) {
        list->params[number - 1].value = value;
        list->params[number - 1].isnull = false;
    };

    set(1, from_text(PG_SNAPSHOTOID, query.done));
    if (query.step == Step::fresh)
        set(2, current);
    else if (query.upper != nullptr) {
        set(2, from_text(PG_SNAPSHOTOID, query.upper));
        set(3, Int64GetDatum(query.last.value));
    }
    if (query.step == Step::reread)
        set(4, from_text(INT8MULTIRANGEOID, query.outstanding));
    set(5, Int64GetDatum(query.rows));
    return list;
}

} // namespace

ChunkResult read_chunk(const ChunkQuery &query, Show show, void *context)
{
    Statement *statement = std::find_if(std::begin(statements), std::end(statements),
                                        [&](const Statement &candidate) { return candidate.step == query.step; });
    // The text of the snapshot that the query runs in: taken from the very same one, it becomes the position.
    PushActiveSnapshot(GetTransactionSnapshot());
    const Datum current =
        query.limit != nullptr ? from_text(PG_SNAPSHOTOID, query.limit) : DirectFunctionCall1(pg_current_snapshot, 0);
    char *snapshot = DatumGetCString(DirectFunctionCall1(pg_snapshot_out, current));

    SPI_connect();
    const int nest_level = NewGUCNestLevel();
    pin_planner(*statement);
    const StreamResult result =
        stream_events(plan_of(statement), parameters_of(query, current), {query.rows, query.bytes}, show, context);
    AtEOXact_GUC(true, nest_level);
    SPI_finish();
    PopActiveSnapshot();

    if (result.flush_to != InvalidXLogRecPtr)
        XLogFlush(result.flush_to);
    return {.limited = result.limited, .last = result.last, .snapshot = snapshot};
}

} // namespace outbox::log
