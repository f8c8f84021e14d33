// What capture did, per table, since the server started: counters in shared memory, added to when a transaction commits
// (capture_counts.hpp) and shown by outbox.capture_stats().
//
// The table of counters has a fixed size. A table of a database gets its entry with its first commit and keeps it until
// the server stops, so an entry is found and claimed without a lock. Tables that find no room share one more entry.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::stats {

enum class CaptureCount : int {
    events,     // written
    failures,   // recorded in outbox.capture_failure
    suppressed, // changes that outbox.capture_off() let go by
    oversized,  // events whose payload was truncated; they count as events, too
};
inline constexpr int capture_count_kinds = 4;

struct CaptureStats {
    Oid database; // InvalidOid: the tables, of any database, that found no room
    Oid table;
    std::int64_t counts[capture_count_kinds];
    std::int64_t last_event; // commit of the last transaction with an event, as TimestampTz; 0: none yet
    std::int64_t last_failure;

    std::int64_t count(CaptureCount kind) const { return counts[static_cast<int>(kind)]; }
};

void request_capture_stats_shmem();
void attach_capture_stats_shmem();

// Adds to the entry of a table of this database. Cannot fail: it is called after a commit.
void add_capture_stats(Oid table, const std::int64_t (&counts)[capture_count_kinds], std::int64_t committed_at);

// How many entries there can be.
inline constexpr int capture_stats_capacity = 1025;

// Copies an entry; false: nothing was counted in it yet.
bool read_capture_stats(int place, CaptureStats *into);

} // namespace outbox::stats
