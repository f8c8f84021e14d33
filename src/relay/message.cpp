#include "relay/message.hpp"

#include "relay/cloud_event.hpp"
#include "relay/envelope.hpp"
#include "relay/header_object.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

namespace outbox::relay {

namespace {

using log::EventView;
using std::string_view;

// AMQP knows no time before 1970: 0, the property is not sent.
std::uint64_t timestamp_property(std::int64_t microseconds)
{
    return microseconds < 0 ? 0 : static_cast<std::uint64_t>(microseconds / 1'000'000);
}

std::int64_t floor_to_milliseconds(std::int64_t microseconds)
{
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::microseconds(microseconds)).count();
}

void add_headers(transport::Message &message, const EventView &event, const LogIdentity &log)
{
    auto &headers = message.headers;
    headers.reserve(10);
    headers.emplace_back("outbox-id", event.id.value);
    headers.emplace_back("outbox-epoch", log.epoch);
    headers.emplace_back("created-at", floor_to_milliseconds(event.created_at));
    const auto add = [&](const char *name, const std::optional<string_view> &value) {
        if (value && value->size() <= longest_copied_header)
            headers.emplace_back(name, std::string(*value));
    };
    add("entity-type", event.entity_type);
    add("entity-id", event.entity_id);
    add("workspace-id", event.workspace_id);
    add("project-id", event.project_id);
    add("initiator-id", event.initiator_id);
    add("initiator-type", event.initiator_type);
    add("schema-version", event.schema_version);
    if (event.headers)
        append_header_object(headers, *event.headers);
}

// What the relay's options ask for. A value that AMQP or the broker does not take is left out: the event is worth more
// than its property.
void set_properties_on_request(transport::Message &message, const EventView &event, const RelayOptions &options)
{
    if (!options.correlation_id.empty()) {
        message.correlation_id = options.correlation_id.expand(event);
        if (message.correlation_id.size() > longest_copied_header)
            message.correlation_id.clear();
    }
    if (!options.expiration.empty())
        if (const auto milliseconds = whole_number_of(options.expiration.expand(event), longest_expiration))
            message.expiration = std::to_string(*milliseconds);
    if (!options.priority.empty())
        if (const auto priority = whole_number_of(options.priority.expand(event), highest_priority))
            message.priority = static_cast<std::uint8_t>(*priority);
}

void set_body(transport::Message &message, const EventView &event, const RelayOptions &options, const LogIdentity &log)
{
    const std::string source = options.source.empty() ? "urn:uuid:" + log.id : options.source;
    message.content_type = "application/json";
    switch (options.body) {
    case Body::envelope:
        append_envelope(message.body, event);
        break;
    case Body::batch:
        append_envelope_with_headers(message.body, event);
        break;
    case Body::payload:
        message.body = event.payload;
        break;
    case Body::cloudevents:
        message.content_type = "application/cloudevents+json; charset=utf-8";
        append_cloud_event(message.body, event, source, message.headers);
        break;
    case Body::cloudevents_binary:
        append_cloud_headers(message.headers, event, source);
        message.body = event.payload;
        break;
    }
}

} // namespace

transport::Message make_message(const EventView &event, const RelayOptions &options, const LogIdentity &log)
{
    transport::Message message;
    message.routing_key = options.routing_key.expand(event);
    message.message_id = event.event_id;
    message.type = event.event_type;
    message.app_id = options.app_id;
    message.timestamp = timestamp_property(event.created_at);
    set_properties_on_request(message, event, options);
    if (options.body != Body::batch) // those of its parts are in their envelopes
        add_headers(message, event, log);
    set_body(message, event, options, log);
    return message;
}

transport::Message make_batch(const std::vector<const transport::Message *> &parts, const LogIdentity &log)
{
    const transport::Message &first = *parts.front();
    transport::Message batch;
    batch.routing_key = first.routing_key;
    batch.message_id = first.message_id;
    batch.content_type = first.content_type;
    batch.app_id = first.app_id;
    batch.correlation_id = first.correlation_id;
    batch.expiration = first.expiration;
    batch.priority = first.priority;
    batch.timestamp = first.timestamp;
    if (std::all_of(parts.begin(), parts.end(), [&](const auto *part) { return part->type == first.type; }))
        batch.type = first.type;
    batch.headers = {{"outbox-epoch", log.epoch}, {"outbox-batch", static_cast<std::int64_t>(parts.size())}};
    batch.headers.insert(batch.headers.end(), first.headers.begin(), first.headers.end()); // outbox-late of a lone one

    std::size_t size = 2;
    for (const auto *part : parts)
        size += part->body.size() + 1;
    batch.body.reserve(size);
    for (const auto *part : parts) {
        batch.body += batch.body.empty() ? '[' : ',';
        batch.body += part->body;
    }
    batch.body += ']';
    return batch;
}

} // namespace outbox::relay
