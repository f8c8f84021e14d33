// SQL functions by which people decide about parked and dead events. Each locks the relay's row, so that no lane
// records what it knows of parked events meanwhile, and has the lanes read outbox.parked again at its commit.
#include "log/event_row.hpp"
#include "pg/extension.hpp"
#include "pg/query.hpp"
#include "relay/commit_actions.hpp"
#include "relay/parked_table.hpp"
#include "relay/relay_change.hpp"
#include "relay/relay_table.hpp"

extern "C" {
#include "utils/builtins.h"
}

OUTBOX_SQL_FUNCTION(outbox_retry)
OUTBOX_SQL_FUNCTION(outbox_redrive)
OUTBOX_SQL_FUNCTION(outbox_discard)
OUTBOX_SQL_FUNCTION(outbox_skip)

namespace outbox::relay {

namespace {

// A condition on a row `e` of outbox.event or outbox.parked: the relay ($1) has yet to settle the event.
#define UNSETTLED                                                                                                      \
    "NOT coalesce((SELECT (pg_visible_in_snapshot(e.xid, p.done)"                                                      \
    "                      OR (p.upper IS NOT NULL AND e.id <= p.last_id AND pg_visible_in_snapshot(e.xid, p.upper)))" \
    "                     AND NOT e.id <@ p.outstanding"                                                               \
    "                FROM outbox.progress AS p WHERE p.relay_id = $1::integer"                                         \
    "                 AND p.lane = coalesce(outbox.lane_of(p.relay_id, e.id, e.event_type, e.entity_type,"             \
    "                                                      e.entity_id, e.ordering_key, e.initiator_type), 0)"         \
    "               ORDER BY p.seq DESC LIMIT 1), false)"

using Id = std::optional<std::int64_t>;

// The relay, locked, its lanes to be told at commit; its id.
std::string begin_decision(const std::string &name)
{
    const int relay_id = lock_relay(name);
    announce_relay_change_at_commit();
    return std::to_string(relay_id);
}

pg::Value text_of(const Id &id)
{
    return id ? pg::Value(std::to_string(*id)) : std::nullopt;
}

std::int64_t count_of(const std::string &change, const std::vector<pg::Value> &arguments)
{
    const auto rows = pg::query("WITH changed AS (" + change + " RETURNING 1) SELECT count(*) FROM changed", arguments);
    return std::stoll(*rows.front().front());
}

[[noreturn]] void refuse(const std::string &relay, std::int64_t id, const std::string &why, int sqlstate,
                         const std::string &hint)
{
    throw pg::Error("event " + std::to_string(id) + " of relay \"" + relay + "\" " + why, sqlstate, hint);
}

void log_decision(const std::string &what, const pg::Value &reason)
{
    pg::call([&] {
        ereport(LOG, errmsg("outbox_relay: %s by %s", what.c_str(), GetUserNameFromId(GetSessionUserId(), false)),
                reason ? errdetail("%s", reason->c_str()) : 0);
    });
}

std::int64_t retry(const std::string &relay)
{
    return count_of("UPDATE outbox.parked SET next_attempt_at = clock_timestamp()"
                    " WHERE relay_id = $1::integer AND state = 'parked' AND reason <> 'waiting'",
                    {begin_decision(relay)});
}

// A dead event that kept its key waiting was overtaken by none.
std::int64_t redrive(const std::string &relay, const Id &id)
{
    const std::string relay_id = begin_decision(relay);
    const std::int64_t count = count_of(
        "UPDATE outbox.parked"
        "   SET state = 'parked', reason = 'waiting', attempts = 0, next_attempt_at = NULL,"
        "       since = clock_timestamp(), late = late OR (key_hash IS NOT NULL AND NOT blocking), blocking = false"
        " WHERE relay_id = $1::integer AND state = 'dead' AND ($2::bigint IS NULL OR id = $2::bigint)",
        {relay_id, text_of(id)});
    if (id && count == 0)
        refuse(relay, *id, "is not dead", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
               "outbox.parked lists the dead events; outbox.retry() makes parked ones due.");
    return count;
}

[[noreturn]] void refuse_discard(const std::string &relay, const std::string &relay_id, std::int64_t id)
{
    if (pg::query("SELECT FROM outbox.parked WHERE relay_id = $1::integer AND id = $2::bigint",
                  {relay_id, std::to_string(id)})
            .empty())
        refuse(relay, id, "is not parked or dead", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
               "outbox.parked lists parked and dead events; outbox.skip() gives up one that is still in the log.");
    refuse(relay, id, "was skipped before the relay had come to it", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
           "Its row is what keeps the relay from sending it: discard it when the relay has passed it in the log.");
}

// Without an id: all that are dead. One that was skipped in the log stays until the relay has passed it there: without
// its row, it would be sent.
std::int64_t discard(const std::string &relay, const Id &id, const pg::Value &reason)
{
    const std::string relay_id = begin_decision(relay);
    const std::int64_t count =
        count_of("DELETE FROM outbox.parked AS e WHERE relay_id = $1::integer"
                 " AND CASE WHEN $2::bigint IS NULL THEN state = 'dead' ELSE id = $2::bigint END"
                 " AND NOT (EXISTS (SELECT FROM outbox.event WHERE id = e.id) AND " UNSETTLED ")",
                 {relay_id, text_of(id)});
    if (id && count == 0)
        refuse_discard(relay, relay_id, *id);
    pg::query("UPDATE outbox.relay SET discarded = discarded + $2::bigint WHERE relay_id = $1::integer",
              {relay_id, std::to_string(count)});
    if (count > 0)
        log_decision(std::to_string(count) + " events of relay \"" + relay + "\" were discarded", reason);
    return count;
}

// A row of its own tells the lanes not to send it. It is as the lane would have parked it.
void skip_in_log(const std::string &relay, const std::string &relay_id, std::int64_t id, const std::string &error)
{
    const RelayOptions options = parse_options(load_options(std::stoi(relay_id)));
    pg::Value key_hash;
    std::string routing_key;
    if (!read_from_log({id}, [&](const log::EventView &event) {
            if (const OrderingKey key = ordering_key_of(event))
                key_hash = std::to_string(static_cast<std::int64_t>(*key));
            routing_key = options.routing_key.expand(event);
        }))
        refuse(relay, id, "does not exist", ERRCODE_UNDEFINED_OBJECT, "outbox.event lists the events.");

    const auto added = pg::query("INSERT INTO outbox.parked (" OUTBOX_EVENT_ROW_COLUMNS
                                 ", relay_id, key_hash, routing_key, state, reason, since,"
                                 "       last_error)"
                                 " SELECT " OUTBOX_EVENT_ROW_COLUMNS
                                 ", $1::integer, $3::bigint, $4, 'dead', 'skipped', clock_timestamp(), $5"
                                 "   FROM outbox.event AS e WHERE id = $2::bigint AND " UNSETTLED " RETURNING 1",
                                 {relay_id, std::to_string(id), key_hash, in_database(routing_key), error});
    if (added.empty())
        refuse(relay, id, "is settled", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
               "Only an event that has not been delivered yet can be skipped.");
}

void skip(const std::string &relay, std::int64_t id, const std::string &reason)
{
    const std::string relay_id = begin_decision(relay);
    const std::string error =
        "skipped by " +
        std::string(pg::call([] { return static_cast<const char *>(GetUserNameFromId(GetSessionUserId(), false)); })) +
        ": " + reason;
    const auto rows = pg::query("SELECT state = 'dead' AND NOT blocking FROM outbox.parked"
                                " WHERE relay_id = $1::integer AND id = $2::bigint",
                                {relay_id, std::to_string(id)});
    if (rows.empty())
        skip_in_log(relay, relay_id, id, error);
    else if (*rows.front().front() == "t")
        refuse(relay, id, "is dead already", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
               "outbox.discard() removes it, outbox.redrive() sends it.");
    else
        pg::query(
            "UPDATE outbox.parked SET state = 'dead', reason = 'skipped', next_attempt_at = NULL, blocking = false,"
            "       since = clock_timestamp(), last_error = $3"
            " WHERE relay_id = $1::integer AND id = $2::bigint",
            {relay_id, std::to_string(id), error});
    log_decision("event " + std::to_string(id) + " of relay \"" + relay + "\" was skipped", reason);
}

Id id_argument(FunctionCallInfo fcinfo, int number)
{
    return PG_ARGISNULL(number) ? std::nullopt : Id(PG_GETARG_INT64(number));
}

} // namespace

} // namespace outbox::relay

Datum outbox_retry(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"relay"});
    PG_RETURN_INT64(pg::entry([&] { return relay::retry(pg::text_argument(fcinfo, 0)); }));
}

Datum outbox_redrive(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"relay"});
    PG_RETURN_INT64(
        pg::entry([&] { return relay::redrive(pg::text_argument(fcinfo, 0), relay::id_argument(fcinfo, 1)); }));
}

Datum outbox_discard(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"relay"});
    PG_RETURN_INT64(pg::entry([&] {
        return relay::discard(pg::text_argument(fcinfo, 0), relay::id_argument(fcinfo, 1),
                              PG_ARGISNULL(2) ? pg::Value{} : pg::text_argument(fcinfo, 2));
    }));
}

Datum outbox_skip(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"relay", "id", "reason"});
    pg::entry([&] { relay::skip(pg::text_argument(fcinfo, 0), PG_GETARG_INT64(1), pg::text_argument(fcinfo, 2)); });
    PG_RETURN_VOID();
}
