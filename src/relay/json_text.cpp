#include "relay/json_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace outbox::relay {

namespace {

bool needs_escape(char c)
{
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

void append_escaped(std::string &json, char c)
{
    switch (c) {
    case '"':
        json += "\\\"";
        return;
    case '\\':
        json += "\\\\";
        return;
    case '\n':
        json += "\\n";
        return;
    case '\r':
        json += "\\r";
        return;
    case '\t':
        json += "\\t";
        return;
    default:
        std::array<char, 8> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned char>(c));
        json += buffer.data();
    }
}

} // namespace

void append_json_string(std::string &json, std::string_view text)
{
    json += '"';
    std::size_t plain = 0; // start of what needs no escape
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!needs_escape(text[i]))
            continue;
        json.append(text, plain, i - plain);
        append_escaped(json, text[i]);
        plain = i + 1;
    }
    json.append(text, plain);
    json += '"';
}

std::string timestamp_text(std::int64_t microseconds)
{
    using namespace std::chrono;
    const sys_time<std::chrono::microseconds> time{std::chrono::microseconds{microseconds}};
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06d+00:00",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return buffer.data();
}

} // namespace outbox::relay
