#include "transport/amqp_session.hpp"

#include "transport/send_room.hpp"
#include "transport/tcp_connect.hpp"
#include "transport/tls_connect.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>

#include <sys/time.h>
#include <unistd.h>

namespace outbox::transport {
namespace {

using Clock = std::chrono::steady_clock;

timeval time_left(Clock::time_point deadline)
{
    using std::chrono::microseconds;
    // Zero would be no time at all to librabbitmq, but a call in progress deserves its error.
    const auto left = std::max(microseconds(1000), std::chrono::ceil<microseconds>(deadline - Clock::now()));
    return {left.count() / 1000000, left.count() % 1000000};
}

// What a broker that said no means. Its words never hold the password.
struct Refusal {
    std::uint16_t code;
    std::string text;
};

Refusal refusal(const amqp_method_t &method)
{
    // connection.close and channel.close have the same fields in the same order, but not the same type.
    if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
        const auto *close = static_cast<const amqp_connection_close_t *>(method.decoded);
        return {close->reply_code, broker_text(close->reply_code, close->reply_text)};
    }
    const auto *close = static_cast<const amqp_channel_close_t *>(method.decoded);
    return {close->reply_code, broker_text(close->reply_code, close->reply_text)};
}

class Opening {
  public:
    Opening(const Target &target, const Endpoint &endpoint)
        : target_(target), endpoint_(endpoint), deadline_(Clock::now() + target.connect_timeout)
    {
    }

    OpenSession open()
    {
        check_names();
        connect();
        log_in();
        open_channel();
        if (!target_.lease.empty())
            take_lease();
        if (!target_.exchange.empty())
            check_exchange();
        amqp_confirm_select(state(), publish_channel);
        require_reply("confirms");
        amqp_maybe_release_buffers(state());
        return {std::move(connection_), lease_};
    }

  private:
    amqp_connection_state_t state() const { return connection_.get(); }

    void check_names() const
    {
        for (const std::string *name : {&target_.exchange, &target_.exchange_type})
            if (name->size() > 255)
                throw Error(Error::Kind::closed, "exchange name or type is longer than 255 bytes");
    }

    void connect()
    {
        // The server has initialised OpenSSL for itself.
        amqp_set_initialize_ssl_library(0);
        if (target_.url.tls) {
            connection_ = connect_tls(target_.tls, endpoint_, deadline_);
            return;
        }
        const int fd = connect_tcp(endpoint_.host, endpoint_.port, deadline_);
        connection_.reset(amqp_new_connection());
        amqp_socket_t *socket = connection_ ? amqp_tcp_socket_new(state()) : nullptr;
        if (socket == nullptr) {
            ::close(fd);
            throw std::bad_alloc();
        }
        amqp_tcp_socket_set_sockfd(socket, fd);
    }

    void log_in();
    void open_channel();
    void reopen_channel();
    void take_lease();
    void check_exchange();
    void declare_exchange();

    void set_rpc_timeout()
    {
        const timeval left = time_left(deadline_);
        amqp_set_rpc_timeout(state(), &left);
    }

    // What the last remote call came to; `purpose` names it in errors.
    void require_reply(const std::string &purpose)
    {
        const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state());
        if (reply.reply_type == AMQP_RESPONSE_NORMAL)
            return;
        if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
            throw Error(Error::Kind::closed, "broker refused " + purpose + ": " + refusal(reply.reply).text);
        throw_no_answer(reply.library_error);
    }

    [[noreturn]] void throw_no_answer(int status) const
    {
        const std::string who = "broker " + endpoint_.host + " port " + std::to_string(endpoint_.port);
        if (status == AMQP_STATUS_TIMEOUT || status == AMQP_STATUS_HEARTBEAT_TIMEOUT)
            throw Error(Error::Kind::unreachable,
                        who + " did not answer within " + std::to_string(target_.connect_timeout.count()) + " ms");
        if (status == AMQP_STATUS_CONNECTION_CLOSED || status == AMQP_STATUS_SOCKET_ERROR)
            throw Error(
                Error::Kind::unreachable,
                who + " closed the connection during the handshake" +
                    (target_.url.tls && target_.tls.cert_file.empty() ? " (no client certificate is set)" : ""));
        // With TLS 1.3 a broker tells only now that it does not take the client's certificate.
        if (status == AMQP_STATUS_SSL_ERROR)
            throw Error(Error::Kind::unreachable, who + " broke the TLS connection off: " + tls_problem());
        throw Error(Error::Kind::unreachable,
                    who + " does not speak AMQP 0-9-1 as expected: " + amqp_error_string2(status));
    }

    const Target &target_;
    const Endpoint &endpoint_;
    Clock::time_point deadline_;
    Connection connection_;
    Lease lease_ = Lease::none;
};

amqp_table_entry_t utf8_entry(const char *name, std::string_view value)
{
    amqp_table_entry_t entry{};
    entry.key = amqp_cstring_bytes(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = as_bytes(value);
    return entry;
}

amqp_table_entry_t capability(const char *name)
{
    amqp_table_entry_t entry{};
    entry.key = amqp_cstring_bytes(name);
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = 1;
    return entry;
}

void Opening::log_in()
{
    // connection.blocked is sent only to clients that announce it; a refused login is told, not just hung up on.
    amqp_table_entry_t capabilities[] = {
        capability("connection.blocked"),
        capability("publisher_confirms"),
        capability("basic.nack"),
        capability("authentication_failure_close"),
    };
    amqp_table_entry_t properties[] = {
        utf8_entry("product", "outbox_relay"),
        utf8_entry("connection_name", target_.connection_name),
        {},
    };
    properties[2].key = amqp_cstring_bytes("capabilities");
    properties[2].value.kind = AMQP_FIELD_KIND_TABLE;
    properties[2].value.value.table = {static_cast<int>(std::size(capabilities)), capabilities};
    const amqp_table_t table = {static_cast<int>(std::size(properties)), properties};

    const timeval left = time_left(deadline_);
    amqp_set_handshake_timeout(state(), &left);
    const auto frame_max = static_cast<int>(SendRoom(amqp_get_sockfd(state())).frame_max());
    const amqp_rpc_reply_t reply = amqp_login_with_properties(
        state(), target_.url.vhost.c_str(), 0, frame_max, static_cast<int>(target_.heartbeat.count()), &table,
        AMQP_SASL_METHOD_PLAIN, target_.url.user.c_str(), target_.url.password.c_str());
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
        const Refusal refused = refusal(reply.reply);
        const bool login = refused.code == AMQP_ACCESS_REFUSED || refused.code == AMQP_NOT_ALLOWED ||
                           refused.code == AMQP_INVALID_PATH;
        std::string text = "broker refused the login of user \"" + target_.url.user + "\" to virtual host \"" +
                           target_.url.vhost + "\": " + refused.text;
        if (refused.code == AMQP_ACCESS_REFUSED && target_.url.user == "guest")
            text += " (RabbitMQ lets \"guest\" log in over a loopback connection only)";
        throw Error(login ? Error::Kind::login : Error::Kind::closed, text);
    }
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        throw_no_answer(reply.library_error);
    if (amqp_get_frame_max(state()) < AMQP_FRAME_MIN_SIZE)
        throw Error(Error::Kind::closed, "broker offers frames of " + std::to_string(amqp_get_frame_max(state())) +
                                             " bytes, below AMQP's minimum");
}

void Opening::open_channel()
{
    set_rpc_timeout();
    amqp_channel_open(state(), publish_channel);
    require_reply("a channel");
}

// What the broker has refused has closed the channel.
void Opening::reopen_channel()
{
    amqp_channel_close_ok_t closed{};
    const int status = amqp_send_method(state(), publish_channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &closed);
    if (status != AMQP_STATUS_OK)
        throw_no_answer(status);
    open_channel();
}

// An exclusive queue belongs to this connection and goes with it. No message ever gets into it.
void Opening::take_lease()
{
    set_rpc_timeout();
    amqp_queue_declare(state(), publish_channel, as_bytes(target_.lease), 0, 0, 1 /* exclusive */, 0, amqp_empty_table);
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state());
    const bool refused =
        reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD;
    const std::uint16_t code = refused ? refusal(reply.reply).code : 0;
    if (code == AMQP_RESOURCE_LOCKED)
        throw Error(Error::Kind::leased, "another connection holds queue \"" + target_.lease + "\"");
    if (code == AMQP_ACCESS_REFUSED) {
        lease_ = Lease::not_permitted;
        reopen_channel();
        return;
    }
    require_reply("lease \"" + target_.lease + "\"");
    lease_ = Lease::held;
}

// Passively first: that needs no permission to configure, and an exchange of another type is used as it is.
void Opening::check_exchange()
{
    set_rpc_timeout();
    amqp_exchange_declare(state(), publish_channel, as_bytes(target_.exchange), as_bytes(target_.exchange_type),
                          1 /* passive */, 1 /* durable */, 0, 0, amqp_empty_table);
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(state());
    const bool missing = reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
                         reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD && refusal(reply.reply).code == AMQP_NOT_FOUND;
    if (missing && target_.declare)
        declare_exchange();
    else
        require_reply("exchange \"" + target_.exchange + "\"");
}

void Opening::declare_exchange()
{
    reopen_channel();
    set_rpc_timeout();
    amqp_exchange_declare(state(), publish_channel, as_bytes(target_.exchange), as_bytes(target_.exchange_type), 0,
                          1 /* durable */, 0, 0, amqp_empty_table);
    require_reply("to declare exchange \"" + target_.exchange + "\" of type \"" + target_.exchange_type + "\"");
    set_rpc_timeout();
}

} // namespace

OpenSession open_session(const Target &target, const Endpoint &endpoint)
{
    return Opening(target, endpoint).open();
}

void throw_lost(int status)
{
    if (status == AMQP_STATUS_HEARTBEAT_TIMEOUT)
        throw Error(Error::Kind::lost, "connection to the broker lost: its heartbeats stopped");
    if (status == AMQP_STATUS_NO_MEMORY)
        throw std::bad_alloc();
    const std::string reason = status == AMQP_STATUS_SSL_ERROR ? tls_problem() : amqp_error_string2(status);
    throw Error(Error::Kind::lost, "connection to the broker lost: " + reason);
}

std::string broker_text(std::uint16_t code, amqp_bytes_t text)
{
    return std::to_string(code) + " " + std::string(as_view(text));
}

} // namespace outbox::transport
