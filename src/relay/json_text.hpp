// JSON as it is written into envelopes. Plain C++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outbox::relay {

// Appends text (UTF-8) as a JSON string, quotes included.
void append_json_string(std::string &json, std::string_view text);

// Appends `,"name":"value"`, or null for a value that is none. The name needs no escapes.
void append_json_member(std::string &json, std::string_view name, std::optional<std::string_view> value);

// Microseconds since 1970 as "2026-01-31T09:30:00.123456+00:00".
std::string timestamp_text(std::int64_t microseconds);

} // namespace outbox::relay
