#include "relay/filter.hpp"

#include "relay/option_error.hpp"

#include <algorithm>

namespace outbox::relay {

namespace {

// Behind the UTF-8 character at the position.
std::size_t next_character(std::string_view text, std::size_t position)
{
    ++position;
    while (position < text.size() && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80)
        ++position;
    return position;
}

// Goes back to the last * only: what an earlier one stands for need never be longer, so the time is bounded by the
// product of both lengths.
bool matches(std::string_view pattern, std::string_view text)
{
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t behind_star = std::string_view::npos; // in the pattern
    std::size_t star_end = 0;                         // of what it stands for, in the text
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            behind_star = ++p;
            star_end = t;
        } else if (p < pattern.size() && pattern[p] == '?') {
            ++p;
            t = next_character(text, t);
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (behind_star != std::string_view::npos) {
            p = behind_star;
            t = star_end = next_character(text, star_end);
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool any_matches(const std::vector<std::string> &patterns, std::string_view text)
{
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string &pattern) { return matches(pattern, text); });
}

} // namespace

PatternList::PatternList(const std::string &option, const std::vector<std::string> &patterns)
{
    for (const std::string &pattern : patterns) {
        const bool excludes = pattern.starts_with('!');
        if (pattern.size() == (excludes ? 1 : 0))
            throw OptionError("option \"" + option + "\" has an empty pattern",
                              "* stands for any text, ? for one character; a pattern that begins with ! excludes.");
        if (excludes)
            excluded_.push_back(pattern.substr(1));
        else
            included_.push_back(pattern);
    }
    if (empty())
        throw OptionError("option \"" + option + "\" has no pattern", "null puts an option back to its default.");
}

bool PatternList::passes(std::optional<std::string_view> text) const
{
    if (!text)
        return included_.empty();
    return (included_.empty() || any_matches(included_, *text)) && !any_matches(excluded_, *text);
}

} // namespace outbox::relay
