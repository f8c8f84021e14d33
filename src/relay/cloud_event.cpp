#include "relay/cloud_event.hpp"

#include "relay/json_text.hpp"

#include <algorithm>
#include <optional>

namespace outbox::relay {

namespace {

using std::string_view;

constexpr string_view prefix = "cloudEvents_";
constexpr string_view content_type = "application/json";
constexpr std::size_t overhead = 640; // more than names and short attributes need

// CloudEvents has no control characters in strings. (In UTF-8 those from U+0080 to U+009F are C2 80 to C2 9F.)
bool has_control_character(string_view text)
{
    unsigned char before = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0))
            return true;
        before = byte;
    }
    return false;
}

// RFC 3339 has years of four digits.
bool has_rfc3339_text(std::int64_t microseconds)
{
    constexpr std::int64_t year_0000 = -62'167'219'200'000'000;
    constexpr std::int64_t year_10000 = 253'402'300'800'000'000;
    return microseconds >= year_0000 && microseconds < year_10000;
}

std::optional<string_view> text_header(const Headers &headers, string_view name)
{
    const auto header =
        std::find_if(headers.begin(), headers.end(), [&](const auto &each) { return each.first == name; });
    const auto *text = header == headers.end() ? nullptr : std::get_if<std::string>(&header->second);
    return text == nullptr ? std::nullopt : std::optional<string_view>(*text);
}

// Calls each(name, value) for every attribute but datacontenttype. One that is optional is left out where CloudEvents
// has no value for it.
template <typename Each>
void for_each_attribute(const log::EventView &event, string_view source, const Headers &headers, Each &&each)
{
    const auto optional = [&](string_view name, std::optional<string_view> value) {
        if (value && !value->empty() && !has_control_character(*value))
            each(name, *value);
    };
    each("specversion", string_view("1.0"));
    each("id", event.event_id);
    each("source", source);
    each("type", event.event_type);
    if (has_rfc3339_text(event.created_at))
        each("time", string_view(timestamp_text(event.created_at)));
    optional("subject", event.entity_id);
    optional("sequence", std::to_string(event.id.value));
    optional("outboxepoch", text_header(headers, "outbox-epoch"));
    optional("entitytype", event.entity_type);
    optional("workspaceid", event.workspace_id);
    optional("projectid", event.project_id);
    optional("initiatorid", event.initiator_id);
    optional("initiatortype", event.initiator_type);
    optional("schemaversion", event.schema_version);
    optional("transactionid", std::to_string(event.xid));
    optional("traceparent", text_header(headers, "traceparent"));
    optional("tracestate", text_header(headers, "tracestate"));
}

} // namespace

void append_cloud_event(std::string &json, const log::EventView &event, string_view source, const Headers &headers)
{
    json.reserve(json.size() + event.payload.size() + overhead);
    json += "{\"datacontenttype\":";
    append_json_string(json, content_type);
    for_each_attribute(event, source, headers,
                       [&](string_view name, string_view value) { append_json_member(json, name, value); });
    json += ",\"data\":";
    json += event.payload;
    json += '}';
}

void append_cloud_headers(Headers &headers, const log::EventView &event, string_view source)
{
    Headers attributes;
    for_each_attribute(event, source, headers, [&](string_view name, string_view value) {
        if (value.size() <= longest_copied_header)
            attributes.emplace_back(std::string(prefix).append(name), std::string(value));
    });
    std::move(attributes.begin(), attributes.end(), std::back_inserter(headers));
}

bool is_uri_reference(string_view text)
{
    constexpr string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-._~:/?#[]@!$&'()*+,;=%";
    constexpr string_view hexadecimal = "0123456789abcdefABCDEF";
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (allowed.find(text[i]) == string_view::npos)
            return false;
        if (text[i] == '%' &&
            (text.size() - i < 3 || text.substr(i + 1, 2).find_first_not_of(hexadecimal) != string_view::npos))
            return false;
    }
    return !text.empty() && std::count(text.begin(), text.end(), '#') <= 1;
}

} // namespace outbox::relay
