#include "capture/key_lock.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/twophase.h"
#include "common/hashfn.h"
#include "storage/lock.h"
}

namespace outbox::capture {

namespace {

// Advisory locks of classes that no SQL can take.
constexpr std::uint16_t key_lock_class = 0x0B03;
constexpr std::uint16_t entity_lock_class = 0x0B04;

// Of a transaction: a share of the lock table that many of its kind leave room for.
int single_key_limit()
{
    return max_locks_per_xact * (MaxBackends + max_prepared_xacts) / 32;
}

std::uint64_t hash(const text *string, std::uint64_t seed)
{
    if (string == nullptr)
        return seed;
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(VARDATA_ANY(string)),
                               static_cast<int>(VARSIZE_ANY_EXHDR(string)), seed);
}

// Returns false if the transaction held it before.
bool lock(std::uint64_t id, std::uint16_t lock_class, LOCKMODE mode)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id),
                         lock_class);
    return LockAcquire(&tag, mode, false, false) != LOCKACQUIRE_ALREADY_HELD;
}

} // namespace

void lock_key(const text *entity_type, const text *key)
{
    static LocalTransactionId transaction = InvalidLocalTransactionId;
    static int single_keys = 0;
    if (transaction != pg::compat::my_local_transaction_id()) {
        transaction = pg::compat::my_local_transaction_id();
        single_keys = 0;
    }

    const std::uint64_t entity = hash(entity_type, 0);
    (void)lock(entity, entity_lock_class, RowExclusiveLock);
    if (single_keys >= single_key_limit())
        (void)lock(entity, entity_lock_class, ExclusiveLock);
    else if (lock(hash(key, entity), key_lock_class, ExclusiveLock))
        single_keys++;
}

} // namespace outbox::capture
