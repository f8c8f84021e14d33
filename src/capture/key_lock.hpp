// The lock of an ordering key, held until the transaction ends. Rules whose events read other rows take it first:
// two writers of one entity's rows would otherwise each publish what lacks the other's, and nobody the truth.
//
// The lock table is finite, so a transaction locks only so many keys one by one (hashed to 64 bits), and from then on
// all keys of the entity type at once. Whoever locks single keys holds the latter's lock, too, in a mode that only
// that conflicts with. So transactions wait for each other's keys and for bulk loads, and for nothing else; two bulk
// loads of one entity type, each waiting for the other to end, are a deadlock.
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::capture {

// Waits for other transactions that hold the lock. Null texts count as empty.
void lock_key(const text *entity_type, const text *key);

} // namespace outbox::capture
