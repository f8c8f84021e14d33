// A message as a broker takes it. Plain C++: no server header in this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace outbox::transport {

using HeaderValue = std::variant<std::string, std::int64_t, double, bool>;

struct Message {
    std::string routing_key;
    std::string message_id;
    std::string type;
    std::string content_type;
    std::string app_id;         // empty: not sent
    std::string correlation_id; // empty: not sent
    std::string expiration;     // milliseconds in decimal; empty: not sent. The broker closes the channel over others
    std::optional<std::uint8_t> priority;
    std::uint64_t timestamp = 0; // seconds since 1970
    std::vector<std::pair<std::string, HeaderValue>> headers;
    std::string body;
};

} // namespace outbox::transport
