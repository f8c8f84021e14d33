#include "capture/trace_context.hpp"

#include <algorithm>
#include <cstddef>

namespace outbox::capture {

namespace {

using std::string_view;

constexpr std::size_t longest_traceparent = 255; // of versions to come; that of version 00 has 55 bytes
constexpr std::size_t longest_tracestate = 512;
constexpr std::ptrdiff_t most_members = 32;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_lower_case(char c)
{
    return c >= 'a' && c <= 'z';
}

bool is_hexadecimal(string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_id(string_view text)
{
    return is_hexadecimal(text) && text.find_first_not_of('0') != string_view::npos;
}

bool is_key_part(string_view text, std::size_t longest, bool may_begin_with_digit)
{
    return !text.empty() && text.size() <= longest &&
           (is_lower_case(text.front()) || (may_begin_with_digit && is_digit(text.front()))) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_lower_case(c) || is_digit(c) || c == '_' || c == '-' || c == '*' || c == '/';
           });
}

// A name, or tenant@system.
bool is_key(string_view text)
{
    const auto at = text.find('@');
    if (at == string_view::npos)
        return is_key_part(text, 256, false);
    return is_key_part(text.substr(0, at), 241, true) && is_key_part(text.substr(at + 1), 14, false);
}

bool is_value(string_view text)
{
    return !text.empty() && text.size() <= 256 && text.back() != ' ' &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

string_view trimmed(string_view text)
{
    constexpr string_view blanks = " \t";
    const auto first = text.find_first_not_of(blanks);
    return first == string_view::npos ? string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_member(string_view text)
{
    const auto equals = text.find('=');
    return equals != string_view::npos && is_key(text.substr(0, equals)) && is_value(text.substr(equals + 1));
}

} // namespace

// version "-" trace-id "-" parent-id "-" trace-flags; versions to come may add more behind another "-".
bool is_traceparent(string_view text)
{
    constexpr std::size_t size_of_version_00 = 55;
    if (text.size() < size_of_version_00 || text.size() > longest_traceparent)
        return false;
    const string_view version = text.substr(0, 2);
    const string_view rest = text.substr(size_of_version_00);
    return is_hexadecimal(version) && version != "ff" && text[2] == '-' && is_id(text.substr(3, 32)) &&
           text[35] == '-' && is_id(text.substr(36, 16)) && text[52] == '-' && is_hexadecimal(text.substr(53, 2)) &&
           (rest.empty() || (version != "00" && rest.front() == '-' &&
                             std::all_of(rest.begin(), rest.end(), [](char c) { return c > ' ' && c <= '~'; })));
}

// Members key=value with commas between them. Empty ones are allowed, all of them being empty is not.
bool is_tracestate(string_view text)
{
    if (text.size() > longest_tracestate || std::count(text.begin(), text.end(), ',') >= most_members)
        return false;
    bool any = false;
    for (bool more = true; more;) {
        const auto comma = text.find(',');
        const string_view member = trimmed(text.substr(0, comma));
        if (!member.empty() && !is_member(member))
            return false;
        any = any || !member.empty();
        more = comma != string_view::npos;
        text.remove_prefix(more ? comma + 1 : text.size());
    }
    return any;
}

} // namespace outbox::capture
