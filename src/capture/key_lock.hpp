// The lock of an ordering key, held until the transaction ends. Rules whose events read other rows take it first:
// two writers of one entity's rows would otherwise each publish what lacks the other's, and nobody the truth.
//
// The lock table is finite, so a transaction locks only its first keys one by one (hashed to 64 bits), each together
// with a shared lock of the bucket that the key falls into. From then on it locks whole buckets exclusively. So small
// transactions never wait for each other's other keys, and a bulk load takes a bounded number of locks.
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::capture {

// Waits for other transactions that hold the lock. Null texts count as empty.
void lock_key(const text *entity_type, const text *key);

} // namespace outbox::capture
