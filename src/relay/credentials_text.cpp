#include "relay/credentials_text.hpp"

#include "relay/option_error.hpp"

#include <algorithm>

namespace outbox::relay {
namespace {

// Takes the first line off the text.
std::string_view take_line(std::string_view *text)
{
    const std::size_t end = std::min(text->find('\n'), text->size());
    std::string_view line = text->substr(0, end);
    text->remove_prefix(std::min(end + 1, text->size()));
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

} // namespace

bool looks_like_json(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{';
}

Credentials credentials_of_lines(std::string_view text)
{
    const std::string_view user = take_line(&text);
    const std::string_view password = take_line(&text);
    if (user.empty() || password.empty() || text.find_first_not_of("\r\n") != std::string_view::npos)
        throw OptionError("the broker's credentials are not two lines", credentials_form);
    return {std::string(user), std::string(password)};
}

} // namespace outbox::relay
