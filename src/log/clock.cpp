#include "log/clock.hpp"

#include "log/unix_time.hpp"
#include "pg/settings.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
}

namespace outbox::log {

namespace {

using Word = std::atomic<std::int64_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

Word *last;

std::int64_t wall_clock()
{
    return to_unix_microseconds(GetCurrentTimestamp()) + std::int64_t{pg::settings::clock_offset} * USECS_PER_SEC;
}

} // namespace

void request_clock_shmem()
{
    RequestAddinShmemSpace(sizeof(Word));
}

void attach_clock_shmem()
{
    bool found = false;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    void *memory = ShmemInitStruct("outbox_relay clock", sizeof(Word), &found);
    last = found ? static_cast<Word *>(memory) : new (memory) Word(0);
    LWLockRelease(AddinShmemInitLock);
}

EventId tick()
{
    const std::int64_t now = wall_clock();
    std::int64_t seen = last->load(std::memory_order_relaxed);
    std::int64_t next = 0;
    do
        next = std::max(seen + 1, now);
    while (!last->compare_exchange_weak(seen, next));
    return {next};
}

void raise_clock(EventId id)
{
    std::int64_t seen = last->load(std::memory_order_relaxed);
    while (seen < id.value && !last->compare_exchange_weak(seen, id.value)) {
    }
}

} // namespace outbox::log
