// User and password as two lines of text. Plain C++.
#pragma once

#include <string>
#include <string_view>

namespace outbox::relay {

struct Credentials {
    std::string user;
    std::string password;
};

inline constexpr const char *credentials_form =
    "Give two lines, user and password, or a JSON object: {\"user\": ..., \"password\": ...}.";

// Begins with a brace; a user's name does not.
bool looks_like_json(std::string_view text);

// Lines may end with a carriage return, too; the second one needs no end. Throws OptionError, which quotes nothing.
Credentials credentials_of_lines(std::string_view text);

} // namespace outbox::relay
