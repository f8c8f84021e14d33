#include "stats/capture_stats.hpp"

extern "C" {
#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
}

namespace outbox::stats {

namespace {

constexpr char shmem_name[] = "outbox_relay capture stats";
constexpr int shared_place = capture_stats_capacity - 1; // of tables that found no room

using Word = std::atomic<std::int64_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

struct Entry {
    std::atomic<std::uint64_t> key; // database and table; 0: free
    Word counts[capture_count_kinds];
    Word last_event;
    Word last_failure;
};

Entry *entries;

std::uint64_t key_of(Oid database, Oid table)
{
    return std::uint64_t{database} << 32 | table;
}

// Entries are never given back: a search that meets a free one has seen all that could hold the key.
Entry *find_or_claim(std::uint64_t key)
{
    const std::uint64_t start = hash_bytes_extended(reinterpret_cast<const unsigned char *>(&key), sizeof(key), 0);
    for (std::uint64_t i = 0; i < shared_place; i++) {
        Entry *entry = &entries[(start + i) % shared_place];
        std::uint64_t found = entry->key.load();
        if (found == 0 && entry->key.compare_exchange_strong(found, key))
            return entry;
        if (found == key)
            return entry;
    }
    return &entries[shared_place];
}

// Transactions do not get here in the order of their commits.
void raise_to(Word *word, std::int64_t value)
{
    std::int64_t seen = word->load();
    while (seen < value && !word->compare_exchange_weak(seen, value)) {
    }
}

} // namespace

void request_capture_stats_shmem()
{
    RequestAddinShmemSpace(sizeof(Entry) * capture_stats_capacity);
}

void attach_capture_stats_shmem()
{
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    void *memory = ShmemInitStruct(shmem_name, sizeof(Entry) * capture_stats_capacity, &found);
    entries = found ? static_cast<Entry *>(memory) : new (memory) Entry[capture_stats_capacity]();
    LWLockRelease(AddinShmemInitLock);
}

void add_capture_stats(Oid table, const std::int64_t (&counts)[capture_count_kinds], std::int64_t committed_at)
{
    Entry *entry = find_or_claim(key_of(MyDatabaseId, table));
    for (int kind = 0; kind < capture_count_kinds; kind++)
        if (counts[kind] > 0)
            entry->counts[kind].fetch_add(counts[kind], std::memory_order_relaxed);
    if (counts[static_cast<int>(CaptureCount::events)] > 0)
        raise_to(&entry->last_event, committed_at);
    if (counts[static_cast<int>(CaptureCount::failures)] > 0)
        raise_to(&entry->last_failure, committed_at);
}

bool read_capture_stats(int place, CaptureStats *into)
{
    const Entry &entry = entries[place];
    const std::uint64_t key = entry.key.load();
    into->database = static_cast<Oid>(key >> 32);
    into->table = static_cast<Oid>(key);
    for (int kind = 0; kind < capture_count_kinds; kind++)
        into->counts[kind] = entry.counts[kind].load(std::memory_order_relaxed);
    into->last_event = entry.last_event.load();
    into->last_failure = entry.last_failure.load();
    return std::any_of(std::begin(into->counts), std::end(into->counts), [](std::int64_t count) { return count != 0; });
}

} // namespace outbox::stats
