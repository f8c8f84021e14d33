// Who works where: the launcher, the keeper of each database, and the lanes, in shared memory.
//
// Backends read it without a lock to wake a worker: the worst a stale entry does is to set another process's
// latch. Everything else is read and written under the registry's lock.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "datatype/timestamp.h"
}

namespace outbox::relay {

enum class KeeperState : std::uint8_t {
    vacant,   // the entry is unused
    wanted,   // to be started
    starting, // handed to the postmaster
    running,
};

// How a worker ended.
enum class End : std::uint8_t {
    failed,   // on an error, or without a word: it is started again after a while
    in_order, // as asked: it may be started again at once
    obsolete, // there is nothing left for it to do: its entry is given back
};

struct KeeperEntry {
    Oid database;
    KeeperState state;
    bool requested;     // asked for since the keeper last looked at its database
    bool awaits_events; // wants to be woken by a commit that wrote events
    pid_t pid;          // 0: not running
    int proc_number;
    pid_t held_by;           // a backend whose DDL needs the database without workers; 0: nobody
    TimestampTz attached_at; // when the worker took the entry
    std::int32_t failures;   // ends in a row that were not in order
    TimestampTz not_before;  // when it may be started again
};

struct LaneEntry {
    Oid database; // InvalidOid: the entry is unused
    std::int32_t relay_id;
    std::int16_t lane;
    pid_t pid; // 0: not running
    int proc_number;
    TimestampTz started_at; // when it was handed to the postmaster; 0: not to be expected
    TimestampTz attached_at;
    TimestampTz asked_at; // when the keeper asked it to stop because it stands still; 0: it did not
    std::int32_t failures;
    TimestampTz not_before;
    std::atomic<bool> sleeping;                  // wants to be woken by a commit
    std::atomic<std::uint32_t> reclaim_requests; // counts up
};

void request_registry_shmem();
void attach_registry_shmem();

// Holds the registry's lock while it lives. Server regime code must not raise errors meanwhile: the lock would
// be released by the transaction's abort, not by this object.
class RegistryLock {
  public:
    RegistryLock();
    ~RegistryLock();
    RegistryLock(const RegistryLock &) = delete;
    RegistryLock &operator=(const RegistryLock &) = delete;
};

// Entries: as many as the server can have workers, at fixed places.
int registry_capacity();
KeeperEntry &keeper_entry(int slot);
LaneEntry &lane_entry(int slot);

// Under the lock. -1: none.
int find_keeper(Oid database);
int find_lane(Oid database, int relay_id, int lane);
// Under the lock. Finds the entry or takes a vacant one (a running or wanted worker's is never taken); -1: all in use.
int claim_keeper_slot(Oid database);
int claim_lane_slot(Oid database, int relay_id, int lane);
// Under the lock. Gives the entry back, unless its worker runs.
void release_lane_slot(int slot);
// Under the lock. Forgets what is not running of a database that is no more, or no longer chosen.
void release_database(Oid database);

// Holds a database for DDL: none of its workers is started meanwhile. False: it has no keeper, or is held already.
bool hold_database(Oid database);
void release_held_database(Oid database);

void set_launcher(int proc_number); // -1: none
void wake_launcher();
void wake_keeper(Oid database);

// The launcher must look at the list of databases again.
void request_database_scan();
bool take_database_scan_request();

// After a commit that wrote events: wakes the sleeping lanes of this database, and its keeper if that awaits the first.
void wake_lanes();

// After a commit that changed relays of this database: its workers read them again.
void announce_relay_change();
std::uint32_t relay_changes();

// Asks for the keeper of this database, and wakes the launcher. A keeper on its way out comes back.
void request_keeper(Oid database);

// A worker's last word, from a before_shmem_exit callback.
void detach_keeper(int slot, End end);
void detach_lane(int slot, End end);

} // namespace outbox::relay
