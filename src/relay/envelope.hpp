// The body `envelope`: all of an event but its headers, as one JSON object (docs/message-format.md). Plain C++.
#pragma once

#include "log/event.hpp"

#include <string>

namespace outbox::relay {

// The payload is in it byte for byte.
void append_envelope(std::string &json, const log::EventView &event);

} // namespace outbox::relay
