// What workers are told when a transaction commits, and not if it rolls back.
#pragma once

namespace outbox::relay {

// Relays were changed, or the extension was dropped: workers of this database look again.
void announce_relay_change_at_commit();

// This database needs its keeper.
void request_keeper_at_commit();

} // namespace outbox::relay
