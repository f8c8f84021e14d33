// What workers are told when a transaction ends: wishes count if it commits, and not if it rolls back.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::relay {

// Relays were changed, or the extension was dropped: workers of this database look again. Such a transaction cannot
// be prepared, as one that has executed LISTEN cannot: nobody would be told at COMMIT PREPARED.
void announce_relay_change_at_commit();

// This database needs its keeper. Cannot be prepared either.
void request_keeper_at_commit();

// Databases were created, dropped or renamed: the launcher looks at the list again.
void request_database_scan_at_commit();

// However the transaction ends, the database that it holds (registry.hpp) is released then.
void release_database_at_end(Oid database);

} // namespace outbox::relay
