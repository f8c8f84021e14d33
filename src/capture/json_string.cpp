#include "capture/json_string.hpp"

namespace outbox::capture {

namespace {

// What escape_json escapes: quote, backslash and control characters.
constexpr std::array<bool, 256> make_escape_table()
{
    std::array<bool, 256> table{};
    for (int c = 0; c < ' '; c++)
        table[c] = true;
    table['"'] = table['\\'] = true;
    return table;
}
constexpr std::array<bool, 256> needs_escape = make_escape_table();

// True if one of the eight bytes needs an escape (bit tricks of exact zero-byte and less-than tests; a byte above
// 0x7f never does, nor does it disturb its neighbours).
bool any_needs_escape(std::uint64_t bytes)
{
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highs = 0x8080808080808080;
    const auto has_zero = [&](std::uint64_t word) { return (word - ones) & ~word & highs; };
    const std::uint64_t control = (bytes - ones * ' ') & ~bytes & highs;
    return (control | has_zero(bytes ^ (ones * '"')) | has_zero(bytes ^ (ones * '\\'))) != 0;
}

std::size_t plain_prefix(const char *string, std::size_t size)
{
    std::size_t i = 0;
    for (; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        memcpy(&word, string + i, sizeof(word));
        if (any_needs_escape(word))
            break;
    }
    while (i < size && !needs_escape[static_cast<unsigned char>(string[i])])
        i++;
    return i;
}

void write_escaped(StringInfo out, char c)
{
    switch (c) {
    case '\b':
        return append_bytes(out, "\\b", 2);
    case '\f':
        return append_bytes(out, "\\f", 2);
    case '\n':
        return append_bytes(out, "\\n", 2);
    case '\r':
        return append_bytes(out, "\\r", 2);
    case '\t':
        return append_bytes(out, "\\t", 2);
    case '"':
        return append_bytes(out, "\\\"", 2);
    case '\\':
        return append_bytes(out, "\\\\", 2);
    default:
        appendStringInfo(out, "\\u%04x", static_cast<unsigned char>(c));
    }
}

} // namespace

void write_json_string(StringInfo out, const char *string, std::size_t size)
{
    append_bytes(out, "\"", 1);
    while (size > 0) {
        const std::size_t plain = plain_prefix(string, size);
        append_bytes(out, string, static_cast<int>(plain));
        if (plain == size)
            break;
        write_escaped(out, string[plain]);
        string += plain + 1;
        size -= plain + 1;
    }
    append_bytes(out, "\"", 1);
}

} // namespace outbox::capture
