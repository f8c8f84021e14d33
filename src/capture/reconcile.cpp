// outbox.reconcile(): emits the events of a tracked table that are missing. First those that are owed by
// outbox.capture_failure; then, with `since`, those of rows that say they were changed and that no event tells about.
//
// An event tells what the row is now, not what it was: the row is locked first and the event's id taken then, so that
// no later change of it can come before. A row that is gone cannot be locked; what its last failure recorded is told
// then. Each row has a subtransaction, so that one that fails does not stop the others.
//
// All is done as the table's owner, whoever calls: types and the rule's SQL may run what the owner wrote.
//
// Server regime.
#include "capture/known_events.hpp"
#include "capture/new_event.hpp"
#include "capture/owed_events.hpp"
#include "capture/payload.hpp"
#include "capture/queries.hpp"
#include "capture/row_image.hpp"
#include "capture/row_lookup.hpp"
#include "capture/rule_context.hpp"
#include "capture/tracked_table.hpp"
#include "log/unix_time.hpp"
#include "pg/attempt.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "stats/capture_counts.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace outbox::capture {

namespace {

constexpr const char *failed = "failed";
constexpr const char *changed_without_event = "changed without event";
constexpr long rows_at_a_time = 100;

struct Reconciliation {
    Relation table;
    CapturePlan *plan;
    RowLookup lookup;
    KnownEvents known;
    Jsonb *headers; // of each event
    ReturnSetInfo *result;
    MemoryContext row_memory; // of one row's work
    std::int64_t owed;        // events for recorded failures
    std::int64_t found;       // events for rows that were changed without one
    std::int64_t kept;        // rows that failed again
    const char *first_error;
};

// The row as it is now. A soft-deleted one is deleted.
Change change_of_present(const CapturePlan &plan, TupleTableSlot *row, Operation operation)
{
    Change change = change_of_rows(plan, nullptr, row);
    change.operation = is_soft_deleted(plan, change.row) ? Operation::remove : operation;
    return change;
}

Change change_of_gone(const CapturePlan &plan, TupleTableSlot *row)
{
    Change change = change_of_rows(plan, row, nullptr);
    change.operation = Operation::remove;
    return change;
}

struct Emitted {
    bool done;
    log::NewEvent event;
    pg_uuid_t event_id;
};

void append(const Reconciliation &run, Emitted *emitted)
{
    emitted->event.headers = run.headers;
    log::append(emitted->event, &emitted->event_id);
    stats::count_capture(RelationGetRelid(run.table), stats::CaptureCount::events);
    emitted->done = true;
}

bool make(const Reconciliation &run, const Change &change, Emitted *emitted)
{
    return make_event(run.plan, change, run.table, Purpose::log, &emitted->event);
}

// The rule says that nobody is to hear of such a row; but that it is gone, they must. What data_query has put in its
// place is another row.
void hide_unmet_row(const Reconciliation &run, const Change &change, TupleTableSlot *row, Emitted *emitted)
{
    const bool own_data = run.plan->queries == nullptr || run.plan->queries->data.plan == nullptr;
    if (own_data && !meets_condition(*run.plan, row))
        emitted->event.payload = identity_payload(run.plan->entity_id, change.row);
}

// What the last failure recorded of it. Its end is no event if it counted as deleted before, or if the log has a later
// event of it.
bool make_of_gone(const Reconciliation &run, const OwedEvent &owed, TupleTableSlot *row, Emitted *emitted)
{
    Change change = change_of_gone(*run.plan, row);
    if (owed.only_deleted && !find_change(*run.plan, row, nullptr, &change))
        return false;
    if (!make(run, change, emitted) || has_later_event(run.known, emitted->event.entity_id, owed.last))
        return false;
    hide_unmet_row(run, change, row, emitted);
    return true;
}

// A row that does not meet the condition counts as gone, as it does when it changes.
void emit_owed(const Reconciliation &run, const OwedEvent &owed, Emitted *emitted)
{
    Jsonb *data = row_data_of(owed);
    TupleTableSlot *present = find_and_lock(run.lookup, data);
    const Operation operation = owed.inserted ? Operation::insert : Operation::update;
    const bool made = present != nullptr && meets_condition(*run.plan, present)
                          ? make(run, change_of_present(*run.plan, present, operation), emitted)
                          : make_of_gone(run, owed, row_of_image(run.table, data), emitted);
    if (made)
        append(run, emitted);
    forget(owed);
}

text *entity_id_of(const Reconciliation &run, TupleTableSlot *row)
{
    const int nest_level = enter_canonical_settings(run.plan->settings);
    text *id = key_text(run.plan->entity_id, row_of(*run.plan, row));
    leave_canonical_settings(nest_level);
    return id;
}

void emit_if_unknown(const Reconciliation &run, TupleTableSlot *row, TimestampTz changed_at, Emitted *emitted)
{
    if (!meets_condition(*run.plan, row))
        return;
    const text *entity_id = entity_id_of(run, row);
    if (entity_id != nullptr && has_event_since(run.known, entity_id, changed_at))
        return;
    TupleTableSlot *present = find_and_lock(run.lookup, image_of_row(run.table, row, run.lookup.identity));
    // Whoever has deleted it has told so.
    if (present == nullptr || !meets_condition(*run.plan, present))
        return;
    if (entity_id != nullptr && has_new_event_since(run.known, entity_id, changed_at))
        return;
    if (make(run, change_of_present(*run.plan, present, Operation::update), emitted))
        append(run, emitted);
}

void put_row(ReturnSetInfo *result, const Emitted &emitted, const char *reason)
{
    Datum values[] = {PointerGetDatum(emitted.event.entity_id), PointerGetDatum(emitted.event.event_type),
                      CStringGetTextDatum(reason), UUIDPGetDatum(&emitted.event_id)};
    bool nulls[std::size(values)] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// Runs the work of one row in memory of its own. Returns the error, if there was one.
template <typename F>
ErrorData *for_one_row(Reconciliation *run, const char *reason, std::int64_t *count, F &&emit)
{
    CHECK_FOR_INTERRUPTS();
    MemoryContextReset(run->row_memory);
    MemoryContext caller = MemoryContextSwitchTo(run->row_memory);
    Emitted emitted{};
    ErrorData *error = pg::attempt([&] { emit(&emitted); });
    if (error != nullptr) {
        run->kept++;
        if (run->first_error == nullptr)
            run->first_error = MemoryContextStrdup(caller, error->message != nullptr ? error->message : "none given");
    } else if (emitted.done) {
        put_row(run->result, emitted, reason);
        (*count)++;
    }
    MemoryContextSwitchTo(caller);
    return error;
}

void reconcile_failures(Reconciliation *run, const OwedEvent *owed, int count)
{
    for (int i = 0; i < count; i++) {
        const ErrorData *error =
            for_one_row(run, failed, &run->owed, [&](Emitted *emitted) { emit_owed(*run, owed[i], emitted); });
        if (error != nullptr)
            note_error(owed[i], *error);
    }
}

// The column that says when a row was changed, as an expression of type timestamptz over alias t.
const char *time_expression(Relation table, const char *column)
{
    const int place = find_column(RelationGetDescr(table), column);
    if (place < 0)
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("table \"%s\" has no column \"%s\"", RelationGetRelationName(table), column),
                errdetail("Rows that were changed without an event are found by the time of their last change."),
                errhint("Name the column that holds it in updated_at. Without one, leave since out: only recorded "
                        "failures are reconciled then."));
    const Oid type = getBaseType(TupleDescAttr(RelationGetDescr(table), place)->atttypid);
    if (type != TIMESTAMPTZOID && type != TIMESTAMPOID)
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of table \"%s\" is no timestamp", column, RelationGetRelationName(table)),
                errdetail("Its type is %s.", format_type_be(type)),
                errhint("Name a column of type timestamp with time zone, or of timestamp, which is read as UTC."));
    return psprintf("t.%s::pg_catalog.timestamptz", quote_identifier(column));
}

Portal open_changed_rows(Relation table, const char *changed_at, TimestampTz since)
{
    Oid types[] = {TIMESTAMPTZOID};
    Datum values[] = {TimestampTzGetDatum(since)};
    const char *sql =
        psprintf("SELECT t, %s %s WHERE %s OPERATOR(pg_catalog.>=) $1", changed_at, from_clause(table), changed_at);
    return SPI_cursor_open_with_args(nullptr, sql, 1, types, values, nullptr, true, 0);
}

void reconcile_changed_rows(Reconciliation *run, TimestampTz since, const char *changed_at)
{
    Portal rows = open_changed_rows(run->table, changed_at, since);
    for (;;) {
        SPI_cursor_fetch(rows, true, rows_at_a_time);
        SPITupleTable *fetched = SPI_tuptable;
        const std::uint64_t count = SPI_processed;
        if (count == 0)
            break;
        for (std::uint64_t i = 0; i < count; i++)
            (void)for_one_row(run, changed_without_event, &run->found, [&](Emitted *emitted) {
                bool is_null = false;
                const Datum row = SPI_getbinval(fetched->vals[i], fetched->tupdesc, 1, &is_null);
                const Datum time = SPI_getbinval(fetched->vals[i], fetched->tupdesc, 2, &is_null);
                emit_if_unknown(*run, slot_of_row(run->table, row), DatumGetTimestampTz(time), emitted);
            });
        SPI_freetuptable(fetched);
    }
    SPI_cursor_close(rows);
}

// Ids are never behind the clock.
log::EventId first_id_since(TimestampTz since)
{
    return {TIMESTAMP_NOT_FINITE(since) ? 0 : std::max<std::int64_t>(log::to_unix_microseconds(since), 0)};
}

Jsonb *mark()
{
    return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{\"outbox-reconciled\": true}")));
}

void report(const Reconciliation &run)
{
    ereport(NOTICE,
            errmsg("reconciled table \"%s\": events of recorded failures: " INT64_FORMAT
                   ", of rows changed without event: " INT64_FORMAT "; rows that failed: " INT64_FORMAT,
                   RelationGetRelationName(run.table), run.owed, run.found, run.kept),
            run.first_error != nullptr ? errdetail("The first error: %s", run.first_error) : 0);
}

// since null: only recorded failures.
void reconcile(Relation table, const TimestampTz *since, const char *updated_at, ReturnSetInfo *result)
{
    const RuleContext context = enter_rule_context(table->rd_rel->relowner, "pg_catalog");
    SPI_connect();
    Reconciliation run{
        .table = table,
        .plan = plan_of_table(table),
        .headers = mark(),
        .result = result,
        .row_memory = AllocSetContextCreate(CurrentMemoryContext, "outbox reconciled row", ALLOCSET_DEFAULT_SIZES)};
    const char *changed_at = since != nullptr ? time_expression(table, updated_at) : nullptr;
    run.lookup = prepare_lookup(table, *run.plan);

    int count = 0;
    const OwedEvent *owed = read_owed_events(RelationGetRelid(table), &count);
    if (count > 0 || since != nullptr) {
        log::EventId from = since != nullptr ? first_id_since(*since) : owed[0].last;
        for (int i = 0; i < count; i++)
            from = std::min(from, owed[i].last);
        run.known = read_known_events(run.plan->entity_type, from);
    }
    reconcile_failures(&run, owed, count);
    if (since != nullptr)
        reconcile_changed_rows(&run, *since, changed_at);
    report(run);
    SPI_finish();
    leave_rule_context(context);
}

// Our own trigger would keep the failures that are dealt with.
void refuse_replica_role()
{
    if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("cannot reconcile while session_replication_role is replica"),
                errdetail("outbox.capture_failure takes no changes of replication."),
                errhint("RESET session_replication_role first."));
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_reconcile)

Datum outbox_reconcile(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    enum : int { target, since, updated_at };

    pg::require_arguments(fcinfo, {"target"});
    capture::refuse_replica_role();
    if (!PG_ARGISNULL(since) && PG_ARGISNULL(updated_at))
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("argument \"updated_at\" must not be null"),
                errhint("Name the column that says when a row was changed, or give null for since."));
    pg::compat::init_materialized_srf(fcinfo);
    const TimestampTz from = PG_ARGISNULL(since) ? 0 : PG_GETARG_TIMESTAMPTZ(since);
    Relation table = capture::open_tracked(PG_GETARG_OID(target));
    capture::reconcile(table, PG_ARGISNULL(since) ? nullptr : &from,
                       PG_ARGISNULL(updated_at) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(updated_at)),
                       reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo));
    table_close(table, AccessShareLock);
    return Datum{0};
}
