#include "capture/owed_events.hpp"

#include "capture/ddl_report.hpp"
#include "log/log_owner.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
}

namespace outbox::capture {

namespace {

// A row whose key could not be read is like no other.
constexpr const char *owed_query =
    "SELECT pg_catalog.array_agg(id ORDER BY id), pg_catalog.max(id), pg_catalog.bool_or(operation = 'insert'),"
    "       pg_catalog.bool_and(operation = 'delete')"
    "  FROM (SELECT id, operation, row_key FROM outbox.capture_failure"
    "         WHERE target = $1 OR target IN (SELECT relid FROM pg_catalog.pg_partition_tree($1))"
    "           FOR UPDATE OF capture_failure) AS failures"
    " GROUP BY coalesce(row_key::text, id::text) ORDER BY pg_catalog.min(id)";

void run(const char *sql, int expected, std::initializer_list<Oid> types, std::initializer_list<Datum> values,
         const char *nulls = nullptr)
{
    const log::CallerIdentity caller = log::become_log_owner();
    const int code = SPI_execute_with_args(sql, static_cast<int>(types.size()), const_cast<Oid *>(types.begin()),
                                           const_cast<Datum *>(values.begin()), nulls, false, 0);
    log::become_caller(caller);
    if (code != expected)
        elog(ERROR, "could not run %s: %s", sql, SPI_result_code_string(code));
}

Datum value(std::uint64_t row, int column, bool *is_null)
{
    return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, is_null);
}

} // namespace

OwedEvent *read_owed_events(Oid table, int *count)
{
    run(owed_query, SPI_OK_SELECT, {REGCLASSOID}, {ObjectIdGetDatum(table)});
    *count = static_cast<int>(SPI_processed);
    auto *owed = static_cast<OwedEvent *>(palloc(sizeof(OwedEvent) * std::max(*count, 1)));
    for (int i = 0; i < *count; i++) {
        bool is_null = false;
        owed[i].failures = datumCopy(value(i, 1, &is_null), false, -1);
        owed[i].last = {DatumGetInt64(value(i, 2, &is_null))};
        owed[i].inserted = DatumGetBool(value(i, 3, &is_null));
        owed[i].only_deleted = DatumGetBool(value(i, 4, &is_null));
    }
    SPI_freetuptable(SPI_tuptable);
    return owed;
}

Jsonb *row_data_of(const OwedEvent &owed)
{
    run("SELECT row_data FROM outbox.capture_failure WHERE id = $1", SPI_OK_SELECT, {INT8OID},
        {Int64GetDatum(owed.last.value)});
    bool is_null = true;
    const Datum data = SPI_processed > 0 ? value(0, 1, &is_null) : Datum{0};
    Jsonb *copy = is_null ? nullptr : DatumGetJsonbPCopy(data);
    SPI_freetuptable(SPI_tuptable);
    return copy;
}

void forget(const OwedEvent &owed)
{
    run("DELETE FROM outbox.capture_failure WHERE id = ANY ($1)", SPI_OK_DELETE, {INT8ARRAYOID}, {owed.failures});
}

void note_error(const OwedEvent &owed, const ErrorData &error)
{
    const auto optional = [](const char *string) { return string != nullptr ? CStringGetTextDatum(string) : Datum{0}; };
    const auto null = [](const char *string) { return string == nullptr ? 'n' : ' '; };
    const char nulls[] = {' ', ' ', ' ', null(error.detail), null(error.hint), null(error.context)};
    run("UPDATE outbox.capture_failure SET failed_at = pg_catalog.clock_timestamp(), sqlstate = $2, message = $3,"
        " detail = $4, hint = $5, context = $6 WHERE id = ANY ($1)",
        SPI_OK_UPDATE, {INT8ARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID},
        {owed.failures, CStringGetTextDatum(unpack_sql_state(error.sqlerrcode)),
         CStringGetTextDatum(error.message != nullptr ? error.message : ""), optional(error.detail),
         optional(error.hint), optional(error.context)},
        nulls);
}

void forget_dropped_tables()
{
    List *tables =
        reported("SELECT objid, object_identity FROM pg_catalog.pg_event_trigger_dropped_objects()"
                 " WHERE classid = 'pg_catalog.pg_class'::regclass AND object_type = 'table' AND NOT is_temporary");
    if (tables == NIL || !OidIsValid(pg::table_oid("capture_failure")))
        return;
    SPI_connect();
    ListCell *cell = nullptr;
    foreach (cell, tables) {
        const auto *table = static_cast<Reported *>(lfirst(cell));
        run("DELETE FROM outbox.capture_failure WHERE target = $1", SPI_OK_DELETE, {REGCLASSOID},
            {ObjectIdGetDatum(table->object)});
        if (SPI_processed > 0)
            ereport(WARNING,
                    errmsg_plural("with table %s, " UINT64_FORMAT " change is dropped that no event tells about",
                                  "with table %s, " UINT64_FORMAT " changes are dropped that no event tells about",
                                  SPI_processed, table->name, SPI_processed),
                    errdetail("Their events could not be made; outbox.capture_failure held them until now."),
                    errhint("To have the events, roll back and call outbox.reconcile() before the table is dropped."));
    }
    SPI_finish();
}

} // namespace outbox::capture
