// Where messages go: a broker and an exchange, and how to reach them.
#pragma once

#include "transport/amqp_url.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace outbox::transport {

struct Target {
    AmqpUrl url;
    std::string exchange; // "" is the broker's default exchange: never declared or checked
    std::string exchange_type = "topic";
    bool declare = true;         // declare (durable) an exchange that the passive check did not find
    std::string connection_name; // shown by the broker's management tools
    std::chrono::seconds heartbeat{10};
    std::chrono::milliseconds connect_timeout{3000};              // all of: resolve, connect, log in, declare
    std::size_t max_message_size = std::size_t{16} * 1024 * 1024; // body bytes
    bool operator==(const Target &) const = default;
};

} // namespace outbox::transport
