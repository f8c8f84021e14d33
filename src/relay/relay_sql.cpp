// SQL functions that change relays or ask something of their workers.
#include "pg/extension.hpp"
#include "pg/query.hpp"
#include "relay/commit_actions.hpp"
#include "relay/registry.hpp"
#include "relay/relay_table.hpp"
#include "stats/lane_stats.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
}

OUTBOX_SQL_FUNCTION(outbox_start_keeper)
OUTBOX_SQL_FUNCTION(outbox_alter_relay)
OUTBOX_SQL_FUNCTION(outbox_resume)
OUTBOX_SQL_FUNCTION(outbox_reclaim)

namespace outbox::relay {

namespace {

int find_relay(const std::string &name, const char *lock = "")
{
    const auto rows = pg::query(std::string("SELECT relay_id FROM outbox.relay WHERE name = $1") + lock, {name});
    if (rows.empty())
        throw pg::Error("relay \"" + name + "\" does not exist", ERRCODE_UNDEFINED_OBJECT,
                        "outbox.relay lists the relays.");
    return std::stoi(*rows.front().front());
}

// The relay `default` can be changed before its first event.
int find_relay_to_change(const std::string &name)
{
    if (name == default_relay)
        ensure_default_relay();
    return find_relay(name, " FOR UPDATE");
}

std::string alter(const std::string &name, const std::string &changes)
{
    if (pg::query("SELECT 1 WHERE jsonb_typeof($1::jsonb) = 'object'", {changes}).empty())
        throw pg::Error("options must be a JSON object", ERRCODE_INVALID_PARAMETER_VALUE,
                        "For example: '{\"exchange\": \"events\"}'.");
    const int relay_id = find_relay_to_change(name);
    const auto rows = pg::query("UPDATE outbox.relay SET options = jsonb_strip_nulls(options || $2::jsonb)"
                                " WHERE relay_id = $1::int RETURNING options",
                                {std::to_string(relay_id), changes});
    try {
        parse_options(load_options(relay_id));
    } catch (const OptionError &error) {
        throw pg::Error(error.what(), ERRCODE_INVALID_PARAMETER_VALUE, error.hint());
    }
    announce_relay_change_at_commit();
    return *rows.front().front();
}

void resume(const std::string &name)
{
    const int relay_id = find_relay_to_change(name);
    pg::query("UPDATE outbox.relay SET database_oid = (SELECT oid FROM pg_database WHERE datname = current_database())"
              " WHERE relay_id = $1::int",
              {std::to_string(relay_id)});
    announce_relay_change_at_commit();
}

// Lanes of this database (of the relay; 0: of all) with a claim taken before `limit` give up their claims.
std::int64_t reclaim(int relay_id, TimestampTz limit)
{
    std::int64_t events = 0;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        LaneEntry &entry = lane_entry(slot);
        stats::LaneStats stats;
        stats::read_entry(slot, &stats);
        if (entry.database != MyDatabaseId || (relay_id != 0 && entry.relay_id != relay_id) || stats.claimed == 0 ||
            stats.oldest_claim > limit)
            continue;
        events += stats.claimed;
        ++entry.reclaim_requests;
    }
    if (events > 0)
        announce_relay_change(); // wakes them
    return events;
}

std::string text_argument(FunctionCallInfo fcinfo, int number)
{
    return pg::call([&] { return text_to_cstring(PG_GETARG_TEXT_PP(number)); });
}

} // namespace

} // namespace outbox::relay

Datum outbox_start_keeper(PG_FUNCTION_ARGS)
{
    outbox::pg::require_preload();
    outbox::relay::request_keeper_at_commit();
    PG_RETURN_VOID();
}

Datum outbox_alter_relay(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name", "options"});
    return pg::entry([&] {
        const std::string name = relay::text_argument(fcinfo, 0);
        const std::string changes = pg::call([&] {
            Jsonb *options = PG_GETARG_JSONB_P(1);
            return JsonbToCString(nullptr, &options->root, VARSIZE(options));
        });
        const std::string options = relay::alter(name, changes);
        return pg::call([&] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(options.c_str())); });
    });
}

Datum outbox_resume(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name"});
    pg::entry([&] { relay::resume(relay::text_argument(fcinfo, 0)); });
    PG_RETURN_VOID();
}

Datum outbox_reclaim(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    if (PG_ARGISNULL(0))
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("older_than must not be null"),
                errhint("Use interval '0' to give up every claim."));
    const TimestampTz limit = DatumGetTimestampTz(
        DirectFunctionCall2(timestamptz_mi_interval, TimestampTzGetDatum(GetCurrentTimestamp()), PG_GETARG_DATUM(0)));
    const std::int64_t events = pg::entry([&] {
        const int relay_id = PG_ARGISNULL(1) ? 0 : relay::find_relay(relay::text_argument(fcinfo, 1));
        return relay::reclaim(relay_id, limit);
    });
    PG_RETURN_INT64(events);
}
