#include "relay/message.hpp"

#include "relay/header_object.hpp"
#include "relay/json_text.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace outbox::relay {

namespace {

using log::EventView;
using std::string_view;

// Properties and headers must fit into one frame. The headers are copies of what the envelope says: a longer one is
// left out, rather than that its message never fits.
constexpr std::size_t longest_copied_header = 255;

constexpr string_view envelope_version = "1.0";
constexpr std::size_t envelope_overhead = 512; // more than keys and short fields need

void add_member(std::string &json, string_view key, const std::optional<string_view> &value)
{
    json += ',';
    json += key;
    if (value)
        append_json_string(json, *value);
    else
        json += "null";
}

std::string envelope(const EventView &event)
{
    std::string json;
    json.reserve(event.payload.size() + envelope_overhead);
    json += "{\"version\":";
    append_json_string(json, envelope_version);
    add_member(json, "\"id\":", std::to_string(event.id.value));
    add_member(json, "\"event_id\":", event.event_id);
    add_member(json, "\"event_type\":", event.event_type);
    add_member(json, "\"entity_type\":", event.entity_type);
    add_member(json, "\"entity_id\":", event.entity_id);
    json += ",\"payload\":";
    json += event.payload; // byte for byte
    add_member(json, "\"workspace_id\":", event.workspace_id);
    add_member(json, "\"project_id\":", event.project_id);
    add_member(json, "\"initiator_id\":", event.initiator_id);
    add_member(json, "\"initiator_type\":", event.initiator_type);
    add_member(json, "\"schema_version\":", event.schema_version);
    add_member(json, "\"transaction_id\":", std::to_string(event.xid));
    add_member(json, "\"created_at\":", timestamp_text(event.created_at));
    json += '}';
    return json;
}

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

} // namespace

transport::Message make_message(const EventView &event, const RelayOptions &options, const LogIdentity &log)
{
    transport::Message message;
    message.routing_key = options.routing_key.expand(event);
    message.message_id = event.event_id;
    message.type = event.event_type;
    message.content_type = "application/json";
    message.app_id = options.app_id;
    message.timestamp = timestamp_property(event.created_at);
    add_headers(message, event, log);
    message.body = options.body == Body::envelope ? envelope(event) : std::string(event.payload);
    return message;
}

} // namespace outbox::relay
