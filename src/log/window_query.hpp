// The three queries of the window algorithm, streamed (event_stream.hpp). Server regime.
#pragma once

#include "log/event_stream.hpp"
#include "pg/postgres.hpp"

namespace outbox::log {

// Which events a chunk is made of, always in the order of their ids.
enum class Step {
    reread, // those named by `outstanding` that are visible in `done`, or in `upper` up to `last`
    resume, // those of the open window: not visible in `done`, visible in `upper`, behind `last`
    fresh,  // all that are visible now and were not in `done`
};

// Snapshots and ranges are in their text form.
struct ChunkQuery {
    Step step;
    const char *done;
    const char *upper; // null: no window is open
    EventId last;
    const char *outstanding;
    const char *limit; // of `fresh`: what is visible in it, instead of all that is visible now; null: none
    std::int64_t rows;
    std::size_t bytes;
};

struct ChunkResult {
    bool limited;         // a limit ended the chunk: there may be more
    EventId last;         // the last one shown, if any was
    const char *snapshot; // what the query ran in, palloc'd in the caller's memory context
};

// Runs the query in a snapshot of its own, then flushes the commits of the transactions it showed (G3).
// Inside a transaction; leaves no snapshot and no SPI connection behind.
ChunkResult read_chunk(const ChunkQuery &query, Show show, void *context);

} // namespace outbox::log
