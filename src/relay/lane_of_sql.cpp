// outbox.lane_of(): which lane of a relay an event belongs to, for the functions and views that show events. The lanes
// themselves ask the same two questions, the filter and lane_of(), of the same classes.
#include "pg/extension.hpp"
#include "pg/guard.hpp"
#include "relay/ordering_key.hpp"
#include "relay/relay_table.hpp"

#include <memory>

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
}

OUTBOX_SQL_FUNCTION(outbox_lane_of)

namespace outbox::relay {

namespace {

// A relay's share of the log, kept for the life of the query that asks.
struct Share {
    int relay_id;
    int lanes; // 0: there is no such relay, or its options do not work
    Filter filter;
};

std::unique_ptr<Share> load_share(int relay_id)
{
    auto share = std::make_unique<Share>(Share{.relay_id = relay_id, .lanes = 0, .filter = {}});
    try {
        const std::optional<Relay> relay = load_relay(relay_id);
        if (relay) {
            share->filter = parse_options(load_options(relay_id)).filter;
            share->lanes = relay->lanes;
        }
    } catch (const OptionError &) {
        share->lanes = 0;
    }
    return share;
}

const Share &share_of(FunctionCallInfo fcinfo, int relay_id)
{
    auto **kept = reinterpret_cast<Share **>(&fcinfo->flinfo->fn_extra);
    if (*kept == nullptr || (*kept)->relay_id != relay_id) {
        std::unique_ptr<Share> share = load_share(relay_id);
        auto *callback = pg::call([&] {
            return static_cast<MemoryContextCallback *>(
                MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(MemoryContextCallback)));
        });
        callback->func = [](void *old) { delete static_cast<Share *>(old); };
        callback->arg = *kept = share.release();
        MemoryContextRegisterResetCallback(fcinfo->flinfo->fn_mcxt, callback);
    }
    return **kept;
}

// A text in UTF-8, in the memory of the call.
struct Text {
    const char *value; // null: SQL null
    std::optional<std::string_view> view() const
    {
        return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
    }
};

Text text_of(FunctionCallInfo fcinfo, int number)
{
    if (PG_ARGISNULL(number))
        return {nullptr};
    text *argument = PG_GETARG_TEXT_PP(number);
    return {pg_server_to_any(text_to_cstring(argument), static_cast<int>(VARSIZE_ANY_EXHDR(argument)), PG_UTF8)};
}

struct Texts {
    Text event_type, entity_type, entity_id, ordering_key, initiator_type;
};

Texts texts_of(FunctionCallInfo fcinfo)
{
    return {text_of(fcinfo, 2), text_of(fcinfo, 3), text_of(fcinfo, 4), text_of(fcinfo, 5), text_of(fcinfo, 6)};
}

// -1: none.
int lane_of_event(const Share &share, const log::EventView &event)
{
    if (share.lanes == 0 || !share.filter.passes(event))
        return -1;
    return lane_of(ordering_key_of(event), event.id, share.lanes);
}

} // namespace

} // namespace outbox::relay

Datum outbox_lane_of(PG_FUNCTION_ARGS)
{
    using namespace outbox;
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        PG_RETURN_NULL();
    const int lane = pg::entry([&] {
        const relay::Share &share = relay::share_of(fcinfo, PG_GETARG_INT32(0));
        const relay::Texts texts = pg::call([&] { return relay::texts_of(fcinfo); });
        log::EventView event;
        event.id = {PG_GETARG_INT64(1)};
        event.event_type = texts.event_type.view().value_or("");
        event.entity_type = texts.entity_type.view();
        event.entity_id = texts.entity_id.view();
        event.ordering_key = texts.ordering_key.view();
        event.initiator_type = texts.initiator_type.view().value_or("");
        return relay::lane_of_event(share, event);
    });
    if (lane < 0)
        PG_RETURN_NULL();
    PG_RETURN_INT16(static_cast<std::int16_t>(lane));
}
