#include "relay/parked_table.hpp"

#include "log/event_row.hpp"
#include "log/event_sink.hpp"
#include "log/event_stream.hpp"
#include "log/utf8.hpp"
#include "pg/query.hpp"
#include "relay/json_text.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/snapmgr.h"
}

#include <array>

namespace outbox::relay {

namespace {

using log::EventId;

constexpr std::size_t page = 5'000; // rows

constexpr std::array<std::pair<Reason, const char *>, 5> reasons{{
    {Reason::refused, "refused"},
    {Reason::unroutable, "unroutable"},
    {Reason::waiting, "waiting"},
    {Reason::unfit, "unfit"},
    {Reason::skipped, "skipped"},
}};

Reason reason_of(const std::string &name)
{
    const auto *found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto &reason) { return reason.second == name; });
    if (found == reasons.end())
        throw pg::Error("unknown reason \"" + name + "\" in outbox.parked", ERRCODE_DATA_CORRUPTED);
    return found->first;
}

std::string in_utf8(const std::string &text)
{
    const std::string_view converted = pg::call([&] { return log::to_utf8(text); });
    return std::string(converted);
}

WallTime time_of(const std::string &microseconds)
{
    return WallTime(std::chrono::microseconds(std::stoll(microseconds)));
}

ParkedRow row_of(const pg::Row &row)
{
    ParkedRow parked;
    parked.id = {std::stoll(*row[0])};
    if (row[1])
        parked.key = static_cast<std::uint64_t>(std::stoll(*row[1]));
    parked.routing_key = in_utf8(*row[2]);
    parked.dead = parked.blocking = *row[3] == "dead";
    parked.reason = reason_of(*row[4]);
    parked.attempts = std::stoi(*row[5]);
    if (row[6])
        parked.next_attempt = time_of(*row[6]);
    parked.since = time_of(*row[7]);
    parked.late = *row[8] == "t";
    return parked;
}

// The rows as an argument of jsonb_to_recordset.
std::string json_of(const std::map<EventId, ParkedRow> &rows)
{
    std::string json = "[";
    for (const auto &[id, row] : rows) {
        const auto text = [&](const char *name, const std::string &value) {
            json.append(",\"").append(name).append("\":");
            append_json_string(json, in_database(value));
        };
        const auto other = [&](const char *name, const std::string &value) {
            json.append(",\"").append(name).append("\":").append(value);
        };
        json += json.size() == 1 ? "{\"id\":" : ",{\"id\":";
        json += std::to_string(id.value);
        if (row.key)
            other("key_hash", std::to_string(static_cast<std::int64_t>(*row.key)));
        text("routing_key", row.routing_key);
        text("state", row.dead ? "dead" : "parked");
        text("reason", name_of(row.reason));
        other("attempts", std::to_string(row.attempts));
        if (row.next_attempt)
            other("next_attempt", std::to_string(row.next_attempt->time_since_epoch().count()));
        other("since", std::to_string(row.since.time_since_epoch().count()));
        if (!row.error.empty())
            text("error", row.error);
        other("late", row.late ? "true" : "false");
        other("blocking", row.blocking ? "true" : "false");
        json += '}';
    }
    return json + "]";
}

std::string array_of(const std::vector<EventId> &ids)
{
    std::string array = "{";
    for (const EventId id : ids)
        array.append(array.size() == 1 ? "" : ",").append(std::to_string(id.value));
    return array + "}";
}

// Times are microseconds since 1970.
#define FROM_UNIX(microseconds) "timestamptz 'epoch' + " microseconds " * interval '1 microsecond'"

#define CHANGED_ROWS                                                                                                   \
    "(SELECT c.*, " FROM_UNIX("c.next_attempt") " AS next_attempt_at, " FROM_UNIX(                                     \
        "c.since") " AS since_at"                                                                                      \
                   "   FROM jsonb_to_recordset($2::jsonb) AS c(id bigint, key_hash bigint, routing_key text, state "   \
                   "text, reason text,"                                                                                \
                   "        attempts integer, next_attempt bigint, since bigint, error text, late boolean, blocking "  \
                   "boolean)) AS c"

// The shape of the plans is forced, as that of the window queries is: the table was empty a minute ago, and statistics
// say so. A subquery with OFFSET 0 is asked for each row, by the index; the row it found is changed by its place.
#define ROW_OF(row)                                                                                                    \
    ", LATERAL (SELECT ctid FROM outbox.parked WHERE relay_id = $1::integer AND id = " row ".id OFFSET 0) AS found"    \
    " WHERE p.ctid = found.ctid"

constexpr const char *add_rows =
    "INSERT INTO outbox.parked (" OUTBOX_EVENT_ROW_COLUMNS ", relay_id, key_hash, routing_key, state, reason, attempts,"
    " next_attempt_at, since, last_error, late, blocking)"
    " SELECT e.*, $1::integer, c.key_hash, c.routing_key, c.state, c.reason, c.attempts, c.next_attempt_at, c.since_at,"
    "        c.error, c.late, c.blocking"
    "   FROM " CHANGED_ROWS "  CROSS JOIN LATERAL (SELECT " OUTBOX_EVENT_ROW_COLUMNS
    " FROM outbox.event WHERE id = c.id OFFSET 0) AS e"
    " ON CONFLICT DO NOTHING";

constexpr const char *change_rows =
    "UPDATE outbox.parked AS p"
    "   SET state = c.state, reason = c.reason, attempts = c.attempts, next_attempt_at = c.next_attempt_at,"
    "       since = c.since_at, last_error = coalesce(c.error, p.last_error), late = c.late, blocking = c.blocking"
    "  FROM " CHANGED_ROWS ROW_OF("c");

constexpr const char *remove_rows =
    "DELETE FROM outbox.parked AS p USING unnest($2::bigint[]) AS gone(id)" ROW_OF("gone");

// $1 relay, $2 ids in ascending order, which is the order of the rows. The queries differ in their place only. The
// subquery with OFFSET 0 is asked for each id by the index, whatever the statistics say.
struct Source {
    const char *sql;
    SPIPlanPtr plan;
};
Source parked_rows{"SELECT e.* FROM unnest($2) AS wanted, LATERAL (SELECT " OUTBOX_EVENT_ROW_COLUMNS
                   " FROM outbox.parked WHERE relay_id = $1 AND id = wanted OFFSET 0) AS e",
                   nullptr};
Source log_rows{"SELECT e.* FROM unnest($2) AS wanted, LATERAL (SELECT " OUTBOX_EVENT_ROW_COLUMNS
                " FROM outbox.event WHERE $1 > 0 AND id = wanted OFFSET 0) AS e",
                nullptr};

ParamListInfo parameters_of(int relay_id, const EventId *ids, std::size_t count)
{
    auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * count));
    for (std::size_t i = 0; i < count; ++i)
        values[i] = Int64GetDatum(ids[i].value);
    ArrayType *array = construct_array(values, static_cast<int>(count), INT8OID, sizeof(std::int64_t), FLOAT8PASSBYVAL,
                                       TYPALIGN_DOUBLE);
    ParamListInfo list = makeParamList(2);
    list->params[0] = {.value = Int32GetDatum(relay_id), .isnull = false, .pflags = PARAM_FLAG_CONST, .ptype = INT4OID};
    list->params[1] = {
        .value = PointerGetDatum(array), .isnull = false, .pflags = PARAM_FLAG_CONST, .ptype = INT8ARRAYOID};
    return list;
}

log::StreamResult stream(Source &source, ParamListInfo parameters, const log::StreamLimits &limits, log::Show show,
                         void *sink)
{
    Oid types[] = {INT4OID, INT8ARRAYOID};
    SPI_connect();
    PushActiveSnapshot(GetTransactionSnapshot());
    if (source.plan == nullptr) {
        SPIPlanPtr plan = SPI_prepare(source.sql, 2, types);
        if (plan == nullptr)
            elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
        SPI_keepplan(plan);
        source.plan = plan;
    }
    const log::StreamResult result = log::stream_events(source.plan, parameters, limits, show, sink);
    PopActiveSnapshot();
    SPI_finish();
    return result;
}

log::StreamResult read(Source &source, int relay_id, const std::vector<EventId> &ids, std::size_t bytes,
                       const std::function<void(const log::EventView &)> &sink)
{
    log::EventSink events(sink);
    const log::StreamLimits limits{static_cast<std::int64_t>(ids.size()) + 1, bytes};
    const log::StreamResult result = pg::call([&] {
        return stream(source, parameters_of(relay_id, ids.data(), ids.size()), limits, log::EventSink::show, &events);
    });
    events.rethrow();
    return result;
}

} // namespace

const char *name_of(Reason reason)
{
    return std::find_if(reasons.begin(), reasons.end(), [&](const auto &known) { return known.first == reason; })
        ->second;
}

std::string in_database(const std::string &text)
{
    const std::string_view converted = pg::call([&] { return log::from_utf8(text); });
    return std::string(converted);
}

void load_parked(int relay_id, const std::function<void(const ParkedRow &)> &each)
{
    std::int64_t last = 0;
    for (std::size_t found = page; found == page;) {
        const auto rows =
            pg::query("SELECT id, key_hash, routing_key, state, reason, attempts,"
                      "       (extract(epoch FROM next_attempt_at) * 1000000)::bigint,"
                      "       (extract(epoch FROM since) * 1000000)::bigint, late"
                      "  FROM outbox.parked"
                      " WHERE relay_id = $1::integer AND id > $2::bigint AND (state = 'parked' OR blocking)"
                      " ORDER BY id LIMIT " +
                          std::to_string(page),
                      {std::to_string(relay_id), std::to_string(last)});
        for (const pg::Row &row : rows)
            each(row_of(row));
        found = rows.size();
        if (found > 0)
            last = std::stoll(*rows.back()[0]);
    }
}

std::vector<EventId> load_skipped(int relay_id)
{
    std::vector<EventId> ids;
    for (const pg::Row &row :
         pg::query("SELECT id FROM outbox.parked"
                   " WHERE relay_id = $1::integer AND state = 'dead' AND reason = 'skipped' ORDER BY id",
                   {std::to_string(relay_id)}))
        ids.push_back({std::stoll(*row[0])});
    return ids;
}

void release_dead(int relay_id)
{
    pg::query("UPDATE outbox.parked SET blocking = false WHERE relay_id = $1::integer AND blocking",
              {std::to_string(relay_id)});
}

std::optional<EventId> read_parked(int relay_id, const std::vector<EventId> &ids, std::size_t bytes,
                                   const std::function<void(const log::EventView &)> &sink)
{
    const log::StreamResult result = read(parked_rows, relay_id, ids, bytes, sink);
    return result.limited ? std::optional(result.last) : std::nullopt;
}

bool read_from_log(EventId id, const std::function<void(const log::EventView &)> &sink)
{
    return read(log_rows, 1, {id}, 1, sink).shown > 0;
}

void write_parked(int relay_id, const ParkedChanges &changes)
{
    const std::string relay = std::to_string(relay_id);
    if (!changes.added().empty())
        pg::query(add_rows, {relay, json_of(changes.added())});
    if (!changes.changed().empty())
        pg::query(change_rows, {relay, json_of(changes.changed())});
    if (!changes.removed().empty())
        pg::query(remove_rows, {relay, array_of(changes.removed())});
}

bool lock_parked(int relay_id)
{
    return !pg::query("SELECT FROM outbox.relay WHERE relay_id = $1::integer FOR SHARE SKIP LOCKED",
                      {std::to_string(relay_id)})
                .empty();
}

} // namespace outbox::relay
