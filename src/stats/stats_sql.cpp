// outbox.stats(): a row per relay and lane, from the relays' table, the lanes' entries in shared memory, and a count
// of what lies behind their positions.
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/query.hpp"
#include "stats/lane_stats.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
}

OUTBOX_SQL_FUNCTION(outbox_stats)

namespace outbox::stats {

namespace {

// One lane, as the database knows it. Plain data: it crosses into the server's regime.
struct LaneRow {
    const char *relay;
    int relay_id;
    int lane;
    const char *resting_state; // instead of the lane's own while it has no worker; null: none
    const char *resting_since; // timestamptz as text
    const char *resting_detail;
    bool pending; // there is something to relay
    std::int64_t backlog;
    std::int64_t parked;
    std::int64_t dead;
    std::int64_t discarded;     // by hand
    const char *oldest_pending; // timestamptz as text; null: nothing is pending
};

// A relay without progress has all of the log before it.
constexpr const char *lanes_query = R"sql(
SELECT r.name, r.relay_id, l.lane,
       r.database_oid <> (SELECT oid FROM pg_database WHERE datname = current_database()),
       r.paused_at, concat_ws(': ', 'by ' || r.paused_by, r.pause_reason),
       pending.count, pending.oldest, aside.parked, aside.dead, CASE l.lane WHEN 0 THEN r.discarded ELSE 0 END,
       CASE WHEN r.lanes <> r.wanted THEN format('changing from %s to %s lanes', r.lanes, r.wanted) END
  FROM (SELECT relay_id, name, database_oid, lanes, coalesce((options ->> 'lanes')::int, 1) AS wanted, discarded, paused_at, paused_by, pause_reason,
               lanes = 1 AND NOT options ?| '{event_types, entities, initiator_types}' AS takes_all
          FROM outbox.relay
        UNION ALL
        SELECT 1, 'default', (SELECT oid FROM pg_database WHERE datname = current_database()), 1, 1, 0, NULL, NULL, NULL, true
          FROM outbox.installation
         WHERE default_relay AND NOT EXISTS (SELECT 1 FROM outbox.relay WHERE name = 'default')) AS r
 CROSS JOIN LATERAL generate_series(0, r.lanes - 1) AS l (lane)
  LEFT JOIN LATERAL (SELECT * FROM outbox.progress
                      WHERE relay_id = r.relay_id AND lane = l.lane ORDER BY seq DESC LIMIT 1) AS p ON true
 CROSS JOIN LATERAL (SELECT coalesce(p.done, '1:1:'::pg_snapshot) AS done) AS d
 CROSS JOIN LATERAL (
       SELECT count(*) AS count, min(created_at) AS oldest
         FROM (SELECT * FROM outbox.event
                WHERE (xid >= pg_snapshot_xmax(d.done) OR xid = ANY (ARRAY(SELECT pg_snapshot_xip(d.done))))
                  AND NOT (p.upper IS NOT NULL AND pg_visible_in_snapshot(xid, p.upper) AND id <= p.last_id)
               UNION ALL
               SELECT e.*
                 FROM unnest(p.outstanding) AS o
                CROSS JOIN LATERAL (SELECT * FROM outbox.event
                                     WHERE id >= lower(o) AND id < upper(o)) AS e
                WHERE pg_visible_in_snapshot(e.xid, d.done)
                   OR (p.upper IS NOT NULL AND pg_visible_in_snapshot(e.xid, p.upper) AND e.id <= p.last_id)) AS unsettled
        WHERE r.takes_all
           OR outbox.lane_of(r.relay_id, id, event_type, entity_type, entity_id, ordering_key, initiator_type) = l.lane
       ) AS pending
 CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE state = 'parked') AS parked, count(*) FILTER (WHERE state = 'dead') AS dead
                       FROM outbox.parked WHERE relay_id = r.relay_id AND l.lane = 0) AS aside
 ORDER BY r.relay_id, l.lane
)sql";

int find_entry(int relay_id, int lane, LaneStats *entry)
{
    for (int slot = 0; slot < lane_stats_capacity(); ++slot) {
        read_entry(slot, entry);
        if (entry->database == MyDatabaseId && entry->relay_id == relay_id && entry->lane == lane)
            return slot;
    }
    *entry = LaneStats{};
    return -1;
}

class RowBuilder {
  public:
    void text(const char *value)
    {
        const bool given = value != nullptr && *value != '\0';
        add(given ? CStringGetTextDatum(value) : Datum{0}, !given);
    }
    void int64(std::int64_t value) { add(Int64GetDatum(value), false); }
    void int64_unless_zero(std::int64_t value) { add(Int64GetDatum(value), value == 0); }
    void int32_unless_zero(std::int32_t value) { add(Int32GetDatum(value), value == 0); }
    void int16(int value) { add(Int16GetDatum(static_cast<std::int16_t>(value)), false); }
    void time(TimestampTz value) { add(TimestampTzGetDatum(value), value == 0); }
    void time_text(const char *value)
    {
        add(value == nullptr ? Datum{0}
                             : DirectFunctionCall3(timestamptz_in, CStringGetDatum(value), ObjectIdGetDatum(InvalidOid),
                                                   Int32GetDatum(-1)),
            value == nullptr);
    }
    // Microseconds; below zero: null.
    void interval(std::int64_t value)
    {
        if (value < 0)
            return add(Datum{0}, true);
        auto *span = static_cast<Interval *>(palloc0(sizeof(Interval)));
        span->time = value;
        add(IntervalPGetDatum(span), false);
    }

    void store(ReturnSetInfo *result) { tuplestore_putvalues(result->setResult, result->setDesc, values_, nulls_); }

  private:
    static constexpr int columns = 30;
    void add(Datum value, bool null)
    {
        values_[count_] = value;
        nulls_[count_++] = null;
    }
    Datum values_[columns];
    bool nulls_[columns];
    int count_ = 0;
};

// What a lane without a worker waits for.
const char *detail_of(const LaneStats &entry, bool pending)
{
    if (entry.state != LaneState::stopped)
        return entry.detail;
    return pending ? "no worker: see outbox_relay.databases, max_worker_processes and the server's log"
                   : "starts with the first event";
}

void store_row(ReturnSetInfo *result, const LaneRow &row)
{
    LaneStats entry;
    find_entry(row.relay_id, row.lane, &entry);
    RowBuilder out;
    out.text(row.relay);
    out.int16(row.lane);
    if (row.resting_state != nullptr && entry.pid == 0) {
        out.text(row.resting_state);
        out.time_text(row.resting_since);
        out.text(row.resting_detail);
    } else {
        out.text(name_of(entry.state));
        out.time(entry.since);
        out.text(detail_of(entry, row.pending));
    }
    out.int32_unless_zero(entry.pid);
    out.text(entry.broker);
    for (const std::int64_t count : {entry.published, entry.confirmed, entry.returned, entry.refused, entry.republished,
                                     entry.filtered, row.parked, row.dead, entry.discarded + row.discarded,
                                     entry.order_breaks, entry.bytes, entry.reconnects, entry.in_flight, entry.claimed})
        out.int64(count);
    out.time(entry.oldest_claim);
    out.int64(row.backlog);
    out.time_text(row.oldest_pending);
    for (const double percentile : {0.50, 0.95, 0.99})
        out.interval(entry.delays.percentile(percentile));
    out.int64_unless_zero(entry.memory);
    out.text(entry.last_error);
    out.time(entry.last_error_at);
    out.store(result);
}

} // namespace

} // namespace outbox::stats

Datum outbox_stats(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    pg::compat::init_materialized_srf(fcinfo);
    pg::entry([&] {
        for (const pg::Row &row : pg::query(stats::lanes_query)) {
            const bool foreign = *row[3] == "t";
            const bool paused = foreign || row[4];
            const bool changes = row[11].has_value();
            const stats::LaneRow lane{
                .relay = row[0]->c_str(),
                .relay_id = std::stoi(*row[1]),
                .lane = std::stoi(*row[2]),
                .resting_state = paused    ? "paused"
                                 : changes ? "draining"
                                           : nullptr,
                .resting_since = row[4] ? row[4]->c_str() : nullptr,
                .resting_detail = foreign   ? "came from another database: outbox.resume lets it relay"
                                  : row[4]  ? row[5]->c_str()
                                  : row[11] ? row[11]->c_str()
                                            : nullptr,
                .pending = std::stoll(*row[6]) > 0,
                .backlog = std::stoll(*row[6]),
                .parked = std::stoll(*row[8]),
                .dead = std::stoll(*row[9]),
                .discarded = std::stoll(*row[10]),
                .oldest_pending = row[7] ? row[7]->c_str() : nullptr,
            };
            pg::call([&] { stats::store_row(result, lane); });
        }
    });
    return Datum{0};
}
