#pragma once

namespace outbox::relay {

// Registers the launcher with the postmaster. From _PG_init, at preload.
void register_launcher();

} // namespace outbox::relay
