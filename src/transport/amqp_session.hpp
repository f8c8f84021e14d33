// From nothing to a channel in confirm mode, within the target's connect_timeout.
#pragma once

#include "transport/error.hpp"
#include "transport/lease.hpp"
#include "transport/rabbitmq_c.hpp"
#include "transport/target.hpp"

namespace outbox::transport {

struct OpenSession {
    Connection connection;
    Lease lease = Lease::none;
};

// Connects to one of the target's endpoints, logs in, opens publish_channel, takes the lease, checks or declares the
// exchange, selects confirms. Throws Error, never with the password in its text.
OpenSession open_session(const Target &target, const Endpoint &endpoint);

// For a status other than AMQP_STATUS_OK of a library call on an established connection.
[[noreturn]] void throw_lost(int status);

// The broker's own words: "404 NOT_FOUND - no exchange 'x' in vhost '/'".
std::string broker_text(std::uint16_t code, amqp_bytes_t text);

} // namespace outbox::transport
