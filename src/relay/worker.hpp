// What launcher, keeper and lane have in common: how they are registered, how they start, wait, and run a
// transaction.
#pragma once

#include "pg/guard.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace outbox::relay {

// What all workers share, filled in. The server restarts none of them by itself but the launcher.
BackgroundWorker describe_worker(const char *function, const char *type, const std::string &name);

// First thing in a worker: signal handlers. SIGTERM asks it to stop (stop_requested), SIGHUP to read settings again.
void begin_worker();

// Connects to a database (InvalidOid: to none, for the shared catalogs only) and pins the settings that would
// otherwise come from the database, its roles or postgresql.conf and could break a worker's own queries.
void connect_to_database(Oid database);

bool stop_requested();

// Takes part in what every backend must: barriers, memory reports, settings after SIGHUP. At least once a second.
// Returns true if settings were read again. Throws pg::Error.
bool attend_server();

// Waits for the latch, at most `milliseconds`; ends the process if the postmaster has died.
void wait_for_latch(long milliseconds, std::uint32_t wait_event);

// What pg_stat_activity shows between transactions.
void set_resting_activity(const std::string &activity);

void begin_transaction(const char *activity);
void commit_transaction();
void abort_transaction();

// Runs body (C++ regime) in a transaction of its own, with no snapshot pushed, and commits it; rolls it back if
// body throws. activity is what pg_stat_activity shows meanwhile.
template <typename F>
void in_transaction(const char *activity, F &&body)
{
    begin_transaction(activity);
    try {
        body();
        commit_transaction();
    } catch (...) {
        abort_transaction();
        throw;
    }
}

// Warns, at most once a minute, that no background worker slot is free for what this process wanted to start ("a
// lane").
void warn_of_missing_slot(const char *wanted);

// Somebody holds a lock on our tables for longer than lock_timeout, or is dropping the extension: the next look tells.
bool passes_by_itself(const pg::Error &error);

// Locks that make a worker the only one of its kind, held until the process ends. No SQL can take them.
bool lock_keeper_role();
bool lock_lane(int relay_id, int lane);

} // namespace outbox::relay
