// What the bench's bare clients share: a connection made by librabbitmq's own calls, and errors as exceptions.
#pragma once

#include "transport/amqp_url.hpp"
#include "transport/rabbitmq_c.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace bench {

inline void require(int status, const char *what)
{
    if (status != AMQP_STATUS_OK)
        throw std::runtime_error(std::string(what) + ": " + amqp_error_string2(status));
}

inline void require(const amqp_rpc_reply_t &reply, const char *what)
{
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        throw std::runtime_error(std::string(what) + " failed");
}

// Logged in, with the channel publish_channel open.
inline outbox::transport::Connection connect(const std::string &url)
{
    const outbox::transport::AmqpUrl to = outbox::transport::parse_amqp_url(url);
    outbox::transport::Connection connection(amqp_new_connection());
    amqp_socket_t *socket = amqp_tcp_socket_new(connection.get());
    require(amqp_socket_open(socket, to.endpoints.front().host.c_str(), to.endpoints.front().port), "connect");
    require(amqp_login(connection.get(), to.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, to.user.c_str(),
                       to.password.c_str()),
            "login");
    amqp_channel_open(connection.get(), outbox::transport::publish_channel);
    require(amqp_get_rpc_reply(connection.get()), "channel.open");
    return connection;
}

// Microseconds since 1970: comparable between processes.
inline std::int64_t wall_clock()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

} // namespace bench
