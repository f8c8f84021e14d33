// Where messages go: a broker and an exchange, and how to reach them.
#pragma once

#include "transport/amqp_url.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace outbox::transport {

// How TLS is spoken where the URL asks for it (amqps).
struct Tls {
    enum class Verify : std::uint8_t {
        full, // the certificate comes from the CA and carries the name of the host
        ca,   // it comes from the CA
        off,  // any
    };
    Verify verify = Verify::full;
    std::string ca_file;   // PEM; empty: the authorities that the system trusts
    std::string cert_file; // PEM, with its chain; empty: no client certificate
    std::string key_file;  // PEM; empty: it is in cert_file
    bool operator==(const Tls &) const = default;
};

struct Target {
    AmqpUrl url;
    Tls tls;
    std::string exchange; // "" is the broker's default exchange: never declared or checked
    std::string exchange_type = "topic";
    bool declare = true; // declare (durable) an exchange that the passive check did not find
    // Name of a queue that only one connection can hold: whoever publishes holds it. Empty: no lease.
    std::string lease;
    std::string connection_name; // shown by the broker's management tools
    std::chrono::seconds heartbeat{10};
    std::chrono::milliseconds connect_timeout{3000};              // all of: resolve, connect, log in, declare
    std::size_t max_message_size = std::size_t{16} * 1024 * 1024; // body bytes
    bool operator==(const Target &) const = default;
};

} // namespace outbox::transport
