#include "relay/registry.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

constexpr char shmem_name[] = "outbox_relay registry";

struct Registry {
    int launcher;
    std::atomic<bool> database_scan_requested;
    std::atomic<std::uint32_t> relay_changes;
};

Registry *registry;
KeeperEntry *keepers;
LaneEntry *lanes;
LWLock *lock;

Size shmem_size()
{
    const auto workers = static_cast<Size>(max_worker_processes);
    Size size = MAXALIGN(sizeof(Registry));
    size = add_size(size, MAXALIGN(mul_size(workers, sizeof(KeeperEntry))));
    return add_size(size, mul_size(workers, sizeof(LaneEntry)));
}

// A worker that failed before is started again after 1, 2, 4 ... 60 seconds.
TimestampTz next_start(int failures)
{
    const int seconds = failures >= 6 ? 60 : 1 << std::max(failures - 1, 0);
    return GetCurrentTimestamp() + seconds * USECS_PER_SEC;
}

void wake_process(int proc_number)
{
    if (proc_number >= 0)
        ProcSendSignal(proc_number);
}

// A worker that failed after it had run for a while is not one that keeps failing.
template <typename Entry>
void note_end(Entry &entry, End end)
{
    if (GetCurrentTimestamp() - entry.attached_at > USECS_PER_MINUTE)
        entry.failures = 0;
    entry.pid = 0;
    entry.proc_number = -1;
    entry.failures = end == End::failed ? entry.failures + 1 : 0;
    entry.not_before = end == End::failed ? next_start(entry.failures) : 0;
}

} // namespace

void request_registry_shmem()
{
    RequestAddinShmemSpace(shmem_size());
    RequestNamedLWLockTranche(shmem_name, 1);
}

void attach_registry_shmem()
{
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    auto *memory = static_cast<char *>(ShmemInitStruct(shmem_name, shmem_size(), &found));
    const auto workers = static_cast<Size>(max_worker_processes);
    registry = reinterpret_cast<Registry *>(memory);
    keepers = reinterpret_cast<KeeperEntry *>(memory + MAXALIGN(sizeof(Registry)));
    lanes = reinterpret_cast<LaneEntry *>(reinterpret_cast<char *>(keepers) + MAXALIGN(workers * sizeof(KeeperEntry)));
    if (!found) {
        new (registry) Registry{.launcher = -1, .database_scan_requested = false, .relay_changes = 0};
        for (Size i = 0; i < workers; ++i) {
            new (&keepers[i]) KeeperEntry{};
            new (&lanes[i]) LaneEntry{};
            keepers[i].proc_number = lanes[i].proc_number = -1;
        }
    }
    lock = &GetNamedLWLockTranche(shmem_name)->lock;
    LWLockRelease(AddinShmemInitLock);
}

RegistryLock::RegistryLock()
{
    LWLockAcquire(lock, LW_EXCLUSIVE);
}
RegistryLock::~RegistryLock()
{
    LWLockRelease(lock);
}

int registry_capacity()
{
    return max_worker_processes;
}
KeeperEntry &keeper_entry(int slot)
{
    return keepers[slot];
}
LaneEntry &lane_entry(int slot)
{
    return lanes[slot];
}

int find_keeper(Oid database)
{
    for (int slot = 0; slot < max_worker_processes; ++slot)
        if (keepers[slot].state != KeeperState::vacant && keepers[slot].database == database)
            return slot;
    return -1;
}

int find_lane(Oid database, int relay_id, int lane)
{
    for (int slot = 0; slot < max_worker_processes; ++slot) {
        const LaneEntry &entry = lanes[slot];
        if (entry.database == database && entry.relay_id == relay_id && entry.lane == lane)
            return slot;
    }
    return -1;
}

int claim_keeper_slot(Oid database)
{
    int slot = find_keeper(database);
    for (int candidate = 0; slot < 0 && candidate < max_worker_processes; ++candidate) {
        if (keepers[candidate].state != KeeperState::vacant)
            continue;
        slot = candidate;
        keepers[slot] = KeeperEntry{};
        keepers[slot].database = database;
        keepers[slot].proc_number = -1;
        keepers[slot].state = KeeperState::wanted;
    }
    return slot;
}

int claim_lane_slot(Oid database, int relay_id, int lane)
{
    int slot = find_lane(database, relay_id, lane);
    for (int candidate = 0; slot < 0 && candidate < max_worker_processes; ++candidate) {
        LaneEntry &entry = lanes[candidate];
        if (OidIsValid(entry.database))
            continue;
        slot = candidate;
        entry.relay_id = relay_id;
        entry.lane = static_cast<std::int16_t>(lane);
        entry.pid = 0;
        entry.proc_number = -1;
        entry.started_at = entry.not_before = 0;
        entry.failures = 0;
        entry.database = database;
    }
    return slot;
}

void release_lane_slot(int slot)
{
    if (lanes[slot].pid == 0)
        lanes[slot].database = InvalidOid;
}

void release_database(Oid database)
{
    for (int slot = 0; slot < max_worker_processes; ++slot)
        if (lanes[slot].database == database)
            release_lane_slot(slot);
    const int keeper = find_keeper(database);
    if (keeper >= 0 && keepers[keeper].pid == 0)
        keepers[keeper].state = KeeperState::vacant;
}

bool hold_database(Oid database)
{
    const RegistryLock guard;
    const int slot = find_keeper(database);
    if (slot < 0 || keepers[slot].held_by != 0)
        return false;
    keepers[slot].held_by = MyProcPid;
    return true;
}

void release_held_database(Oid database)
{
    {
        const RegistryLock guard;
        const int slot = find_keeper(database);
        if (slot >= 0 && keepers[slot].held_by == MyProcPid)
            keepers[slot].held_by = 0;
    }
    wake_launcher();
}

void set_launcher(int proc_number)
{
    registry->launcher = proc_number;
}
void wake_launcher()
{
    wake_process(registry->launcher);
}

void wake_keeper(Oid database)
{
    for (int slot = 0; slot < max_worker_processes; ++slot)
        if (keepers[slot].database == database && keepers[slot].state == KeeperState::running)
            wake_process(keepers[slot].proc_number);
}

void request_database_scan()
{
    registry->database_scan_requested = true;
    wake_launcher();
}

bool take_database_scan_request()
{
    return registry->database_scan_requested.exchange(false);
}

void wake_lanes()
{
    for (int slot = 0; slot < max_worker_processes; ++slot) {
        LaneEntry &entry = lanes[slot];
        if (entry.database != MyDatabaseId || entry.pid == 0)
            continue;
        if (entry.sleeping.exchange(false))
            wake_process(entry.proc_number);
    }
    for (int slot = 0; slot < max_worker_processes; ++slot)
        if (keepers[slot].database == MyDatabaseId && keepers[slot].awaits_events)
            wake_process(keepers[slot].proc_number);
}

void announce_relay_change()
{
    registry->relay_changes.fetch_add(1);
    for (int slot = 0; slot < max_worker_processes; ++slot)
        if (lanes[slot].database == MyDatabaseId && lanes[slot].pid != 0)
            wake_process(lanes[slot].proc_number);
    wake_keeper(MyDatabaseId);
}

std::uint32_t relay_changes()
{
    return registry->relay_changes;
}

void request_keeper(Oid database)
{
    {
        const RegistryLock guard;
        const int slot = claim_keeper_slot(database);
        if (slot >= 0)
            keepers[slot].requested = true;
    }
    wake_launcher();
    wake_keeper(database);
}

void detach_keeper(int slot, End end)
{
    {
        const RegistryLock guard;
        KeeperEntry &entry = keepers[slot];
        note_end(entry, end);
        entry.state = end == End::obsolete && !entry.requested ? KeeperState::vacant : KeeperState::wanted;
    }
    wake_launcher();
}

void detach_lane(int slot, End end)
{
    const Oid database = lanes[slot].database;
    {
        const RegistryLock guard;
        LaneEntry &entry = lanes[slot];
        note_end(entry, end);
        entry.started_at = 0;
        if (end == End::obsolete)
            entry.database = InvalidOid;
    }
    wake_keeper(database);
}

} // namespace outbox::relay
