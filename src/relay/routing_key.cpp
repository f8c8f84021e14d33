#include "relay/routing_key.hpp"

#include "relay/option_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace outbox::relay {

namespace {

using log::EventView;

using FieldOf = std::string_view (*)(const EventView &);

constexpr std::array<std::pair<std::string_view, FieldOf>, 8> known_fields{{
    {"event_type", [](const EventView &event) { return event.event_type; }},
    {"entity_type", [](const EventView &event) { return event.entity_type.value_or(""); }},
    {"entity_id", [](const EventView &event) { return event.entity_id.value_or(""); }},
    {"workspace_id", [](const EventView &event) { return event.workspace_id.value_or(""); }},
    {"project_id", [](const EventView &event) { return event.project_id.value_or(""); }},
    {"initiator_id", [](const EventView &event) { return event.initiator_id.value_or(""); }},
    {"initiator_type", [](const EventView &event) { return event.initiator_type; }},
    {"schema_version", [](const EventView &event) { return event.schema_version.value_or(""); }},
}};

FieldOf find_field(std::string_view name)
{
    const auto *known =
        std::find_if(known_fields.begin(), known_fields.end(), [&](const auto &field) { return field.first == name; });
    if (known != known_fields.end())
        return known->second;

    std::string list;
    for (const auto &field : known_fields)
        list.append(list.empty() ? "" : ", ").append(field.first);
    throw OptionError("unknown field \"" + std::string(name) + "\" in option \"routing_key\"",
                      "Known fields: " + list + ".");
}

[[noreturn]] void refuse_brace()
{
    throw OptionError("unpaired brace in option \"routing_key\"",
                      "Write {field} for a field, and {{ or }} for a brace.");
}

} // namespace

RoutingKey RoutingKey::parse(std::string_view text)
{
    RoutingKey key;
    key.text_ = text;
    std::string literal;
    while (!text.empty()) {
        const char c = text.front();
        if ((c == '{' || c == '}') && text.size() > 1 && text[1] == c) {
            literal += c;
            text.remove_prefix(2);
        } else if (c == '{') {
            const auto end = text.find('}');
            if (end == std::string_view::npos)
                refuse_brace();
            if (!literal.empty())
                key.parts_.push_back({std::exchange(literal, {}), nullptr});
            key.parts_.push_back({{}, find_field(text.substr(1, end - 1))});
            text.remove_prefix(end + 1);
        } else if (c == '}') {
            refuse_brace();
        } else {
            literal += c;
            text.remove_prefix(1);
        }
    }
    if (!literal.empty())
        key.parts_.push_back({std::move(literal), nullptr});
    return key;
}

std::string RoutingKey::expand(const EventView &event) const
{
    std::string expanded;
    for (const Part &part : parts_)
        expanded.append(part.field != nullptr ? part.field(event) : std::string_view(part.literal));
    return expanded;
}

} // namespace outbox::relay
