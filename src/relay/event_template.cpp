#include "relay/event_template.hpp"

#include "relay/header_object.hpp"
#include "relay/option_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <type_traits>
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

constexpr std::string_view header_prefix = "headers.";

[[noreturn]] void refuse_field(std::string_view name, std::string_view option)
{
    std::string list;
    for (const auto &field : known_fields)
        list.append(field.first).append(", ");
    throw OptionError("unknown field \"" + std::string(name) + "\" in option \"" + std::string(option) + "\"",
                      "Known fields: " + list + "and headers.NAME for a header of the event's own.");
}

[[noreturn]] void refuse_brace(std::string_view option)
{
    throw OptionError("unpaired brace in option \"" + std::string(option) + "\"",
                      "Write {field} for a field, and {{ or }} for a brace.");
}

std::string text_of(const transport::HeaderValue &value)
{
    return std::visit(
        [](const auto &content) -> std::string {
            using Content = std::remove_cvref_t<decltype(content)>;
            if constexpr (std::is_same_v<Content, std::string>) {
                return content;
            } else if constexpr (std::is_same_v<Content, bool>) {
                return content ? "true" : "false";
            } else {
                std::array<char, 32> digits{}; // more than the shortest text of any double needs
                const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), content);
                return {digits.data(), written.ptr};
            }
        },
        value);
}

std::string header_text(const Headers &headers, const std::string &name)
{
    const auto header =
        std::find_if(headers.begin(), headers.end(), [&](const auto &each) { return each.first == name; });
    return header == headers.end() ? std::string() : text_of(header->second);
}

} // namespace

EventTemplate::Part EventTemplate::parse_field(std::string_view name, std::string_view option)
{
    if (name.starts_with(header_prefix) && name.size() > header_prefix.size())
        return {Part::Kind::header, std::string(name.substr(header_prefix.size())), nullptr};
    const auto *known =
        std::find_if(known_fields.begin(), known_fields.end(), [&](const auto &field) { return field.first == name; });
    if (known == known_fields.end())
        refuse_field(name, option);
    return {Part::Kind::field, {}, known->second};
}

EventTemplate EventTemplate::parse(std::string_view text, std::string_view option)
{
    EventTemplate parsed;
    parsed.text_ = text;
    std::string literal;
    const auto end_literal = [&] {
        if (!literal.empty())
            parsed.parts_.push_back({Part::Kind::literal, std::exchange(literal, {}), nullptr});
    };
    while (!text.empty()) {
        const char c = text.front();
        if ((c == '{' || c == '}') && text.size() > 1 && text[1] == c) {
            literal += c;
            text.remove_prefix(2);
        } else if (c == '{') {
            const auto end = text.find('}');
            if (end == std::string_view::npos)
                refuse_brace(option);
            end_literal();
            parsed.parts_.push_back(parse_field(text.substr(1, end - 1), option));
            text.remove_prefix(end + 1);
        } else if (c == '}') {
            refuse_brace(option);
        } else {
            literal += c;
            text.remove_prefix(1);
        }
    }
    end_literal();
    return parsed;
}

bool EventTemplate::constant() const
{
    return std::all_of(parts_.begin(), parts_.end(), [](const Part &part) { return part.kind == Part::Kind::literal; });
}

std::string EventTemplate::expand(const EventView &event) const
{
    std::string expanded;
    std::optional<Headers> headers; // read only if a part asks for one
    for (const Part &part : parts_) {
        switch (part.kind) {
        case Part::Kind::literal:
            expanded += part.text;
            break;
        case Part::Kind::field:
            expanded += part.field(event);
            break;
        case Part::Kind::header:
            if (!headers)
                append_header_object(headers.emplace(), event.headers.value_or("{}"));
            expanded += header_text(*headers, part.text);
            break;
        }
    }
    return expanded;
}

} // namespace outbox::relay
