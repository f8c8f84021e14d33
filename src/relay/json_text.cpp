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

// Exactly `width` decimal digits of a value that has no more.
void append_digits(std::string &text, std::int64_t value, std::size_t width)
{
    const std::size_t end = text.size() + width;
    text.resize(end);
    for (std::size_t i = 1; i <= width; ++i, value /= 10)
        text[end - i] = static_cast<char>('0' + value % 10);
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

void append_json_member(std::string &json, std::string_view name, std::optional<std::string_view> value)
{
    json += ",\"";
    json += name;
    json += "\":";
    if (value)
        append_json_string(json, *value);
    else
        json += "null";
}

std::string timestamp_text(std::int64_t microseconds)
{
    using namespace std::chrono;
    const sys_time<std::chrono::microseconds> time{std::chrono::microseconds{microseconds}};
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    const int year = static_cast<int>(date.year());

    std::string text;
    text.reserve(sizeof("2026-01-31T09:30:00.123456+00:00"));
    if (year < 0 || year > 9999)
        text += std::to_string(year);
    else
        append_digits(text, year, 4);
    append_digits(text += '-', static_cast<unsigned>(date.month()), 2);
    append_digits(text += '-', static_cast<unsigned>(date.day()), 2);
    append_digits(text += 'T', clock.hours().count(), 2);
    append_digits(text += ':', clock.minutes().count(), 2);
    append_digits(text += ':', clock.seconds().count(), 2);
    append_digits(text += '.', clock.subseconds().count(), 6);
    return text += "+00:00";
}

} // namespace outbox::relay
