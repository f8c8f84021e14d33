#include "relay/envelope.hpp"

#include "relay/json_text.hpp"

namespace outbox::relay {

namespace {
constexpr std::string_view envelope_version = "1.0";
constexpr std::size_t envelope_overhead = 512; // more than keys and short fields need

void append_members(std::string &json, const log::EventView &event)
{
    json.reserve(json.size() + event.payload.size() + envelope_overhead);
    json += "{\"version\":";
    append_json_string(json, envelope_version);
    append_json_member(json, "id", std::to_string(event.id.value));
    append_json_member(json, "event_id", event.event_id);
    append_json_member(json, "event_type", event.event_type);
    append_json_member(json, "entity_type", event.entity_type);
    append_json_member(json, "entity_id", event.entity_id);
    json += ",\"payload\":";
    json += event.payload;
    append_json_member(json, "workspace_id", event.workspace_id);
    append_json_member(json, "project_id", event.project_id);
    append_json_member(json, "initiator_id", event.initiator_id);
    append_json_member(json, "initiator_type", event.initiator_type);
    append_json_member(json, "schema_version", event.schema_version);
    append_json_member(json, "transaction_id", std::to_string(event.xid));
    append_json_member(json, "created_at", timestamp_text(event.created_at));
}

} // namespace

void append_envelope(std::string &json, const log::EventView &event)
{
    append_members(json, event);
    json += '}';
}

void append_envelope_with_headers(std::string &json, const log::EventView &event)
{
    append_members(json, event);
    json += ",\"headers\":";
    json += event.headers.value_or("null");
    json += '}';
}

} // namespace outbox::relay
