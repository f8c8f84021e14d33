// Where a new relay begins (C++ regime, inside the transaction that makes it).
#pragma once

#include <string>

namespace outbox::relay {

// Records the first position of its lanes. options is the JSON text given to outbox.create_relay, of which "start"
// counts: "now" (the default), "beginning", or a timestamp. Throws pg::Error.
void record_start(int relay_id, int lanes, const std::string &options);

} // namespace outbox::relay
