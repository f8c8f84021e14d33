// What every lane shows of itself: one entry per worker slot, in shared memory. A lane writes its own entry
// whole; outbox.stats() copies it out. An entry outlives its lane, so that counts go on after a restart of it.
#pragma once

#include "pg/postgres.hpp"
#include "stats/histogram.hpp"

namespace outbox::stats {

// The states of a lane (docs/architecture.md has them as one picture).
enum class LaneState : std::uint8_t {
    stopped,      // no worker
    starting,     // worker started, position not read yet
    unconfigured, // no broker is set, or its options are wrong
    connecting,
    backing_off, // could not connect, or lost the connection: waits before the next try
    idle,        // everything visible is settled
    relaying,
    waiting_for_lease, // another connection holds the lane's lease
    blocked,           // the broker sent connection.blocked
    holding,           // a message was returned or refused: waits before it tries that one again
    probing,           // tries that one
    draining,          // settles the last events before the number of lanes changes
    stopping,          // waits for the last confirms
    failing,           // its keeper says so: it keeps crashing, or stands still and does not end
};

const char *name_of(LaneState state);

struct LaneStats {
    Oid database;
    std::int32_t relay_id;
    std::int16_t lane;
    LaneState state;
    std::int32_t pid;       // 0: no worker
    std::int64_t since;     // of the state; all times are TimestampTz, 0: never
    char detail[256];       // what the state waits on
    char broker[256];       // without the password
    std::int64_t published; // messages handed to the broker, repeats included
    std::int64_t confirmed;
    std::int64_t returned;
    std::int64_t refused;
    std::int64_t republished;  // published again by this worker
    std::int64_t filtered;     // events that the relay's filter left out
    std::int64_t discarded;    // events that no queue took, given up by on_unroutable "discard"
    std::int64_t order_breaks; // events confirmed after a later one of their key
    std::int64_t bytes;        // of bodies published
    std::int64_t reconnects;
    std::int64_t in_flight;
    std::int64_t claimed;
    std::int64_t oldest_claim;
    std::int64_t moved_at;      // when something last moved, or nothing had to: its keeper watches it
    std::int64_t memory;        // bytes of private memory of the worker
    std::int64_t lease_seen_at; // when a connection of this lane was last seen to hold its lease
    std::int64_t last_error_at;
    char last_error[512];
    Histogram delays; // capture to confirm
};
static_assert(std::is_trivially_copyable_v<LaneStats>);

void request_lane_stats_shmem();
void attach_lane_stats_shmem();

// As many entries as the server can have workers.
int lane_stats_capacity();

// Copies an entry out of, or into, shared memory.
void read_entry(int slot, LaneStats *into);
void write_entry(int slot, const LaneStats &from);

// Nobody will work here again: the entry is nobody's.
void clear_entry(int slot);

// Its keeper shows what is wrong with a lane that cannot do so itself.
void show_failing(int slot, const char *detail);

// However a lane ended: its entry keeps its counts, and shows no worker.
void show_stopped(int slot);

} // namespace outbox::stats
