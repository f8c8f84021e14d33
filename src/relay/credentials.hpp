// User and password of the broker where they are not in its URL: in a file, or printed by a command. They are read for
// every connection, so a rotated password heals by itself. They are never part of an error.
#pragma once

#include "pg/postgres.hpp"
#include "transport/amqp_url.hpp"

#include <chrono>
#include <string>

namespace outbox::relay {

// Where they come from; both empty: the URL has them.
struct CredentialsSource {
    std::string file;
    std::string command;
    bool operator==(const CredentialsSource &) const = default;
};

// Puts them into the URL. A file or an output is either two lines, user and password, or a JSON object with "user" (or
// "username") and "password". Throws OptionError, pg::Error.
void read_credentials(const CredentialsSource &source, std::chrono::steady_clock::time_point deadline,
                      transport::AmqpUrl *url);

} // namespace outbox::relay
