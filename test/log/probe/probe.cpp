// SQL functions that drive the window reader and the progress table for the tests. They keep nothing between
// calls: a position goes in, and the position behind what was read comes out, as a restarted lane would see it.
#include "log/progress.hpp"
#include "log/window.hpp"
#include "pg/guard.hpp"

extern "C" {
#include "utils/builtins.h"

PG_MODULE_MAGIC;
}

OUTBOX_SQL_FUNCTION(probe_read)
OUTBOX_SQL_FUNCTION(probe_record)
OUTBOX_SQL_FUNCTION(probe_load)

namespace {

using namespace outbox;

std::string text_argument(FunctionCallInfo fcinfo, int number)
{
    return pg::call([&] { return text_to_cstring(PG_GETARG_TEXT_PP(number)); });
}

// Arguments `first` and following: done, upper, last_id, outstanding.
log::Position position_argument(FunctionCallInfo fcinfo, int first)
{
    log::Position position;
    position.done = log::Snapshot::parse(text_argument(fcinfo, first));
    if (!PG_ARGISNULL(first + 1))
        position.open =
            log::OpenWindow{log::Snapshot::parse(text_argument(fcinfo, first + 1)), {PG_GETARG_INT64(first + 2)}};
    position.outstanding = log::IdRanges::parse(text_argument(fcinfo, first + 3));
    return position;
}

std::string json(const log::Position &position)
{
    const std::string upper = position.open ? '"' + position.open->upper.text() + '"' : "null";
    const std::string last = position.open ? std::to_string(position.open->last.value) : "null";
    return "{\"done\":\"" + position.done.text() + "\",\"upper\":" + upper + ",\"last_id\":" + last +
           ",\"outstanding\":\"" + position.outstanding.text() + "\"}";
}

std::string quoted(const std::optional<std::string_view> &text)
{
    return text ? '"' + std::string(*text) + '"' : "null"; // the tests write nothing that JSON would escape
}

std::string json(const log::EventView &event)
{
    return "{\"id\":" + std::to_string(event.id.value) + ",\"xid\":" + std::to_string(event.xid) +
           ",\"event_id\":" + quoted(event.event_id) + ",\"event_type\":" + quoted(event.event_type) +
           ",\"entity_type\":" + quoted(event.entity_type) + ",\"entity_id\":" + quoted(event.entity_id) +
           ",\"ordering_key\":" + quoted(event.ordering_key) + ",\"initiator_type\":" + quoted(event.initiator_type) +
           ",\"headers\":" + std::string(event.headers.value_or("null")) +
           ",\"created_at\":" + std::to_string(event.created_at) + ",\"payload\":" + std::string(event.payload) + "}";
}

// A sink that throws must leave the reader where it was.
void read_and_throw(log::WindowReader *reader, const log::WindowReader::Limits &limits, std::int64_t throw_at)
{
    const log::Position before = reader->position();
    std::int64_t shown = 0;
    try {
        reader->read(limits, [&](const log::EventView &) {
            if (++shown == throw_at)
                throw std::range_error("as asked");
        });
    } catch (const std::range_error &) {
        if (shown != throw_at || reader->position() != before)
            throw std::logic_error("an exception of the sink moved the reader");
        return;
    }
    throw std::logic_error("the sink's exception got lost");
}

Datum text_result(const std::string &text)
{
    return PointerGetDatum(pg::call([&] { return cstring_to_text_with_len(text.data(), text.size()); }));
}

} // namespace

// probe_read(done text, upper text, last_id bigint, outstanding text, rows bigint, bytes bigint, throw_at bigint)
Datum probe_read(PG_FUNCTION_ARGS)
{
    return pg::entry([&] {
        log::WindowReader reader(position_argument(fcinfo, 0));
        const log::WindowReader::Limits limits{PG_GETARG_INT64(4), static_cast<std::size_t>(PG_GETARG_INT64(5))};
        if (PG_GETARG_INT64(6) > 0)
            read_and_throw(&reader, limits, PG_GETARG_INT64(6));

        std::string events;
        const auto chunk = reader.read(
            limits, [&](const log::EventView &event) { events += (events.empty() ? "" : ",") + json(event); });
        return text_result(
            "{\"all_read\":" + std::string(chunk == log::WindowReader::Chunk::all_read ? "true" : "false") +
            ",\"position\":" + json(reader.position()) + ",\"events\":[" + events + "]}");
    });
}

// probe_record(relay_id int, lane int, seq bigint, settled bigint, highest bigint,
//              done text, upper text, last_id bigint, outstanding text)
Datum probe_record(PG_FUNCTION_ARGS)
{
    return pg::entry([&]() -> Datum {
        log::Progress progress;
        progress.seq = PG_GETARG_INT64(2);
        progress.settled = PG_GETARG_INT64(3);
        progress.highest = {PG_GETARG_INT64(4)};
        progress.position = position_argument(fcinfo, 5);
        log::record_progress(PG_GETARG_INT32(0), PG_GETARG_INT32(1), progress);
        PG_RETURN_VOID();
    });
}

// probe_load(relay_id int, lane int)
Datum probe_load(PG_FUNCTION_ARGS)
{
    return pg::entry([&]() -> Datum {
        const std::optional<log::Progress> progress = log::load_progress(PG_GETARG_INT32(0), PG_GETARG_INT32(1));
        if (!progress)
            return text_result("null");
        return text_result("{\"seq\":" + std::to_string(progress->seq) +
                           ",\"settled\":" + std::to_string(progress->settled) + ",\"highest\":" +
                           std::to_string(progress->highest.value) + ",\"position\":" + json(progress->position) + "}");
    });
}
