// A start is nothing but a position, so it is kept nowhere else:
//
//   now         done is the current snapshot: all that commits from now on, of transactions that are open, too
//   beginning   a window is open up to the current snapshot, read from its first id on
//   a time      the same, read from that time's first id on. What commits later comes whatever its id is
//
// Events of the transaction that creates the relay count as committed after that.
#include "relay/relay_start.hpp"

#include "log/progress.hpp"
#include "pg/query.hpp"

namespace outbox::relay {

namespace {

constexpr const char *hint = "Use now, beginning, or a timestamp like 2026-01-31 12:00:00+00.";

[[noreturn]] void refuse(const std::string &start, const std::string &why)
{
    throw pg::Error("invalid value for option \"start\": \"" + start + "\"" + why, ERRCODE_INVALID_PARAMETER_VALUE,
                    hint);
}

// The first id of that time. Raises what the server says of a text that is no timestamp.
log::EventId first_id_of(const std::string &time)
{
    const auto rows = pg::query("SELECT isfinite(time), time > clock_timestamp(),"
                                " CASE WHEN isfinite(time) THEN floor(extract(epoch FROM time) * 1000000)::bigint END"
                                "  FROM CAST($1 AS timestamptz) AS time",
                                {time});
    const pg::Row &row = rows.front();
    if (row[0] != "t")
        refuse(time, ": it is not finite");
    if (row[1] == "t")
        refuse(time, ": it lies in the future");
    return {std::stoll(row[2].value())};
}

} // namespace

void record_start(int relay_id, int lanes, const std::string &options)
{
    const auto rows = pg::query("SELECT pg_current_snapshot(), pg_current_xact_id(),"
                                " (SELECT coalesce(max(id), 0) FROM outbox.event),"
                                " coalesce($1::jsonb ->> 'start', 'now'),"
                                " coalesce(jsonb_typeof($1::jsonb -> 'start'), 'null') IN ('null', 'string')",
                                {options});
    const pg::Row &row = rows.front();
    const std::string start = row[3].value();
    if (row[4] != "t")
        refuse(start, ": it is no string");

    log::Snapshot now = log::Snapshot::parse(row[0].value());
    now.hide(std::stoull(row[1].value()));
    // What lies before the start counts as settled, and `highest` is the highest id of it.
    log::Progress progress;
    if (start == "now") {
        progress.position.done = now;
        progress.highest = {std::stoll(row[2].value())};
    } else {
        progress.highest = {start == "beginning" ? 0 : first_id_of(start).value - 1};
        progress.position.open = log::OpenWindow{now, progress.highest};
    }
    for (int lane = 0; lane < lanes; ++lane)
        log::record_progress(relay_id, lane, progress);
}

} // namespace outbox::relay
