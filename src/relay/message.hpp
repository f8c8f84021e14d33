// Makes the message of an event (docs/message-format.md). Plain C++.
#pragma once

#include "log/event.hpp"
#include "relay/log_identity.hpp"
#include "relay/options.hpp"
#include "transport/message.hpp"

namespace outbox::relay {

transport::Message make_message(const log::EventView &event, const RelayOptions &options, const LogIdentity &log);

} // namespace outbox::relay
