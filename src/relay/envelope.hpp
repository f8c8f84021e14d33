// The body `envelope`: all of an event but its headers, as one JSON object (docs/message-format.md). Plain C++.
#pragma once

#include "log/event.hpp"

#include <string>

namespace outbox::relay {

// The payload is in it byte for byte.
void append_envelope(std::string &json, const log::EventView &event);

// With the headers that it was emitted with as its last member: for messages that cannot have those of all their
// events.
void append_envelope_with_headers(std::string &json, const log::EventView &event);

} // namespace outbox::relay
