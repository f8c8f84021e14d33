// Makes the message of an event (docs/message-format.md). Plain C++.
#pragma once

#include "log/event.hpp"
#include "relay/log_identity.hpp"
#include "relay/options.hpp"
#include "transport/message.hpp"

#include <vector>

namespace outbox::relay {

transport::Message make_message(const log::EventView &event, const RelayOptions &options, const LogIdentity &log);

// One message of the bodies of several, which were made for that (body "batch"), in their order. At least one.
transport::Message make_batch(const std::vector<const transport::Message *> &parts, const LogIdentity &log);

} // namespace outbox::relay
