// The window algorithm. The position is described in position.hpp, the queries are in window_query.cpp.
//
// A cursor on an id loses events, because a lower id can commit later; a cursor on transaction ids breaks the
// order, because a lower xid can commit later. So the position is a snapshot, and the order inside a window is the
// id. The trap: a snapshot's xmax is the latest *completed* transaction plus one, so a running transaction may lie
// at or above it, in no list, and may have taken its ids long ago. The first query of a window therefore never
// looks at ids.
#include "log/window.hpp"

#include "log/event_sink.hpp"
#include "log/window_query.hpp"
#include "pg/guard.hpp"

namespace outbox::log {

namespace {

Step next_step(const Position &position)
{
    if (!position.outstanding.empty())
        return Step::reread;
    return position.open ? Step::resume : Step::fresh;
}

// As many ranges as could fill a chunk: there may be thousands, and each names at least one event as a rule.
IdRanges first_ranges(const IdRanges &all, std::int64_t count)
{
    IdRanges some;
    for (const IdRanges::Range &range : all.ranges()) {
        if (count-- == 0)
            break;
        some.append(range.first, range.last);
    }
    return some;
}

// The position behind a chunk. `asked` is what of the outstanding ids the chunk was made of.
Position advanced(Position position, Step step, const IdRanges &asked, const ChunkResult &chunk)
{
    switch (step) {
    case Step::reread:
        position.outstanding.drop_through(chunk.limited ? chunk.last : asked.ranges().back().last);
        break;
    case Step::resume:
        if (chunk.limited) {
            position.open->last = chunk.last;
        } else {
            position.done = std::move(position.open->upper);
            position.open.reset();
        }
        break;
    case Step::fresh:
        if (chunk.limited)
            position.open = OpenWindow{Snapshot::parse(chunk.snapshot), chunk.last};
        else
            position.done = Snapshot::parse(chunk.snapshot);
        break;
    }
    return position;
}

} // namespace

WindowReader::WindowReader(Position position, std::optional<Snapshot> limit)
    : position_(std::move(position)), limit_(std::move(limit))
{
}

WindowReader::Chunk WindowReader::read(const Limits &limits, const std::function<void(const EventView &)> &sink)
{
    if (at_limit())
        return Chunk::all_read;
    const Step step = next_step(position_);
    const std::string limit = limit_ ? limit_->text() : "";
    const std::string done = position_.done.text();
    const std::string upper = position_.open ? position_.open->upper.text() : "";
    const IdRanges asked = first_ranges(position_.outstanding, limits.rows);
    const std::string outstanding = asked.text();
    const ChunkQuery query{
        .step = step,
        .done = done.c_str(),
        .upper = position_.open ? upper.c_str() : nullptr,
        .last = position_.open ? position_.open->last : EventId{},
        .outstanding = outstanding.c_str(),
        .limit = limit_ ? limit.c_str() : nullptr,
        .rows = limits.rows,
        .bytes = limits.bytes,
    };

    EventSink events(sink);
    const ChunkResult chunk = pg::call([&] { return read_chunk(query, EventSink::show, &events); });
    events.rethrow();

    position_ = advanced(position_, step, asked, chunk);
    // Behind what was outstanding, or behind an open window, lies at least one window more.
    return step == Step::fresh && !chunk.limited ? Chunk::all_read : Chunk::more;
}

bool WindowReader::at_limit() const
{
    return position_.done == limit_ && !position_.open && position_.outstanding.empty();
}

bool WindowReader::rereading() const
{
    return !position_.outstanding.empty();
}

} // namespace outbox::log
