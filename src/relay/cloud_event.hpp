// An event as a CloudEvent 1.0: in structured mode one JSON object, in binary mode the payload with attributes in
// headers. Both have the same attributes; docs/message-format.md lists them. Plain C++.
//
// The specification has a binding for AMQP 1.0 only. Attributes in headers are named as it names application
// properties, cloudEvents_type and so on: that is what RabbitMQ makes of such headers for its AMQP 1.0 consumers.
#pragma once

#include "log/event.hpp"
#include "relay/header_object.hpp"

#include <string>
#include <string_view>

namespace outbox::relay {

// Appends the event as a JSON object. `source` is a URI reference; `headers` are those that the message has, of which
// traceparent and tracestate are attributes, too.
void append_cloud_event(std::string &json, const log::EventView &event, std::string_view source,
                        const Headers &headers);

// Appends the event's attributes to its message's headers.
void append_cloud_headers(Headers &headers, const log::EventView &event, std::string_view source);

// Whether the text is a URI reference that can be a CloudEvent's source: not empty, and of no other characters than
// RFC 3986 has for them.
bool is_uri_reference(std::string_view text);

} // namespace outbox::relay
