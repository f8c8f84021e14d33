// SQL functions that change relays or ask something of their workers.
#include "pg/extension.hpp"
#include "relay/commit_actions.hpp"
#include "relay/registry.hpp"
#include "relay/relay_change.hpp"
#include "stats/lane_stats.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
}

OUTBOX_SQL_FUNCTION(outbox_start_keeper)
OUTBOX_SQL_FUNCTION(outbox_create_relay)
OUTBOX_SQL_FUNCTION(outbox_alter_relay)
OUTBOX_SQL_FUNCTION(outbox_drop_relay)
OUTBOX_SQL_FUNCTION(outbox_pause)
OUTBOX_SQL_FUNCTION(outbox_resume)
OUTBOX_SQL_FUNCTION(outbox_reclaim)

namespace outbox::relay {

namespace {

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

std::string jsonb_argument(FunctionCallInfo fcinfo, int number)
{
    return pg::call([&] {
        Jsonb *value = PG_GETARG_JSONB_P(number);
        return JsonbToCString(nullptr, &value->root, VARSIZE(value));
    });
}

// name and options in, the options then set out.
template <typename Change>
Datum change_options(FunctionCallInfo fcinfo, Change change)
{
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name", "options"});
    return pg::entry([&] {
        const std::string options = change(pg::text_argument(fcinfo, 0), jsonb_argument(fcinfo, 1));
        return pg::call([&] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(options.c_str())); });
    });
}

} // namespace

} // namespace outbox::relay

Datum outbox_start_keeper(PG_FUNCTION_ARGS)
{
    outbox::pg::require_preload();
    outbox::relay::request_keeper_at_commit();
    PG_RETURN_VOID();
}

Datum outbox_create_relay(PG_FUNCTION_ARGS)
{
    return outbox::relay::change_options(fcinfo, outbox::relay::create_relay);
}

Datum outbox_alter_relay(PG_FUNCTION_ARGS)
{
    return outbox::relay::change_options(fcinfo, outbox::relay::alter_relay);
}

Datum outbox_drop_relay(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name"});
    pg::entry([&] { relay::drop_relay(pg::text_argument(fcinfo, 0)); });
    PG_RETURN_VOID();
}

Datum outbox_pause(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name"});
    pg::entry([&] {
        relay::pause_relay(pg::text_argument(fcinfo, 0), PG_ARGISNULL(1) ? pg::Value{} : pg::text_argument(fcinfo, 1));
    });
    PG_RETURN_VOID();
}

Datum outbox_resume(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    pg::require_preload();
    pg::require_arguments(fcinfo, {"name"});
    pg::entry([&] { relay::resume_relay(pg::text_argument(fcinfo, 0)); });
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
        const int relay_id = PG_ARGISNULL(1) ? 0 : relay::find_relay(pg::text_argument(fcinfo, 1));
        return relay::reclaim(relay_id, limit);
    });
    PG_RETURN_INT64(events);
}
