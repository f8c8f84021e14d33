// librabbitmq's headers (they moved in 0.12), its connection as an owned object, and its byte strings.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <rabbitmq-c/ssl_socket.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#endif

namespace outbox::transport {

struct DestroyConnection {
    void operator()(amqp_connection_state_t connection) const { amqp_destroy_connection(connection); }
};
// Closes its socket, without a word to the broker, when it goes.
using Connection = std::unique_ptr<amqp_connection_state_t_, DestroyConnection>;

// The one channel that is used.
inline constexpr amqp_channel_t publish_channel = 1;

// librabbitmq only reads from what it is given to send; its type has no const.
inline amqp_bytes_t as_bytes(std::string_view text)
{
    return {text.size(), const_cast<char *>(text.data())};
}

inline std::string_view as_view(amqp_bytes_t bytes)
{
    return {static_cast<const char *>(bytes.bytes), bytes.len};
}

} // namespace outbox::transport
