#include "stats/lane_stats.hpp"

extern "C" {
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
}

namespace outbox::stats {

namespace {

constexpr char shmem_name[] = "outbox_relay lane stats";

LaneStats *entries;
LWLockPadded *locks; // one per entry

Size shmem_size()
{
    return mul_size(sizeof(LaneStats), static_cast<Size>(max_worker_processes));
}

} // namespace

const char *name_of(LaneState state)
{
    switch (state) {
    case LaneState::stopped:
        return "stopped";
    case LaneState::starting:
        return "starting";
    case LaneState::unconfigured:
        return "unconfigured";
    case LaneState::connecting:
        return "connecting";
    case LaneState::backing_off:
        return "backing off";
    case LaneState::idle:
        return "idle";
    case LaneState::relaying:
        return "relaying";
    case LaneState::waiting_for_lease:
        return "waiting for lease";
    case LaneState::blocked:
        return "blocked";
    case LaneState::holding:
        return "holding";
    case LaneState::probing:
        return "probing";
    case LaneState::draining:
        return "draining";
    case LaneState::stopping:
        return "stopping";
    case LaneState::failing:
        return "failing";
    }
    pg_unreachable();
}

void request_lane_stats_shmem()
{
    RequestAddinShmemSpace(shmem_size());
    RequestNamedLWLockTranche(shmem_name, max_worker_processes);
}

void attach_lane_stats_shmem()
{
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    entries = static_cast<LaneStats *>(ShmemInitStruct(shmem_name, shmem_size(), &found));
    if (!found)
        std::memset(static_cast<void *>(entries), 0, shmem_size());
    locks = GetNamedLWLockTranche(shmem_name);
    LWLockRelease(AddinShmemInitLock);
}

int lane_stats_capacity()
{
    return max_worker_processes;
}

void read_entry(int slot, LaneStats *into)
{
    LWLockAcquire(&locks[slot].lock, LW_SHARED);
    *into = entries[slot];
    LWLockRelease(&locks[slot].lock);
}

void write_entry(int slot, const LaneStats &from)
{
    LWLockAcquire(&locks[slot].lock, LW_EXCLUSIVE);
    entries[slot] = from;
    LWLockRelease(&locks[slot].lock);
}

void clear_entry(int slot)
{
    write_entry(slot, LaneStats{});
}

void show_failing(int slot, const char *detail)
{
    LWLockAcquire(&locks[slot].lock, LW_EXCLUSIVE);
    LaneStats &entry = entries[slot];
    if (entry.state != LaneState::failing)
        entry.since = GetCurrentTimestamp();
    entry.state = LaneState::failing;
    strlcpy(entry.detail, detail, sizeof(entry.detail));
    LWLockRelease(&locks[slot].lock);
}

void show_stopped(int slot)
{
    LWLockAcquire(&locks[slot].lock, LW_EXCLUSIVE);
    LaneStats &entry = entries[slot];
    entry.pid = 0;
    entry.in_flight = entry.claimed = entry.oldest_claim = entry.memory = 0;
    entry.state = LaneState::stopped;
    entry.since = GetCurrentTimestamp();
    entry.detail[0] = '\0';
    LWLockRelease(&locks[slot].lock);
}

} // namespace outbox::stats
