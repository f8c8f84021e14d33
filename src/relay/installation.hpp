// outbox.installation as the workers read it (C++ regime, inside a transaction).
#pragma once

#include "relay/log_identity.hpp"

namespace outbox::relay {

// Gives a log that was copied with its database (CREATE DATABASE ... TEMPLATE) a UUID of its own: it is another log
// from then on. The keeper calls this before it starts a lane.
void own_the_log();

LogIdentity load_log_identity();

} // namespace outbox::relay
