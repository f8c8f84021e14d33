#include "fake_broker.hpp"

#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace outbox::test {
namespace {

constexpr std::uint16_t channel = 1;

void limit_reads(int socket, std::chrono::milliseconds limit)
{
    const timeval timeout{limit.count() / 1000, limit.count() % 1000 * 1000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

} // namespace

void Peer::handshake(bool exchange)
{
    start();
    tune();
    open();
    if (exchange) {
        expect(method::exchange_declare);
        send_method(channel, method::exchange_declare_ok);
    }
    confirm();
}

void Peer::start()
{
    if (read_bytes(8) != std::string("AMQP\0\0\x09\x01", 8))
        throw std::runtime_error("not a protocol header");
    send_method(0, method::start,
                Writer().u8(0).u8(9).u32(0).long_string("PLAIN AMQPLAIN").long_string("en_US").bytes());
    const std::string arguments = expect(method::start_ok);
    client_properties_ = Reader(arguments).long_string();
}

void Peer::tune(std::uint32_t frame_max, std::uint16_t heartbeat)
{
    send_method(0, method::tune, Writer().u16(2047).u32(frame_max).u16(heartbeat).bytes());
    const std::string arguments = expect(method::tune_ok);
    Reader reader(arguments);
    reader.u16();
    frame_max_ = reader.u32();
}

void Peer::open()
{
    expect(method::open);
    send_method(0, method::open_ok, Writer().short_string("").bytes());
    expect(method::channel_open);
    send_method(channel, method::channel_open_ok, Writer().long_string("").bytes());
}

void Peer::confirm()
{
    expect(method::confirm_select);
    send_method(channel, method::confirm_select_ok);
}

std::string Peer::expect(std::uint32_t id)
{
    std::uint8_t type = 0;
    const std::string payload = read_frame(&type);
    Reader reader(payload);
    const std::uint32_t got = type == method_frame ? reader.u32() : 0;
    if (got != id)
        throw std::runtime_error("expected method " + std::to_string(id) + ", got frame type " + std::to_string(type) +
                                 " method " + std::to_string(got));
    return reader.rest();
}

std::string Peer::read_frame(std::uint8_t *type)
{
    for (;;) {
        const std::string head = read_bytes(7);
        Reader reader(head);
        const std::uint8_t read_type = reader.u8();
        reader.u16();
        const std::uint32_t size = reader.u32();
        if (frame_max_ != 0 && size + 8 > frame_max_)
            throw std::runtime_error("frame is larger than agreed");
        std::string payload = read_bytes(size);
        if (read_bytes(1).front() != frame_end)
            throw std::runtime_error("frame without an end");
        if (read_type == heartbeat_frame)
            continue;
        if (type != nullptr)
            *type = read_type;
        return payload;
    }
}

Published Peer::read_message()
{
    Published message;
    const std::string arguments = expect(method::publish);
    Reader publish(arguments);
    publish.u16();
    message.exchange = publish.short_string();
    message.routing_key = publish.short_string();
    message.mandatory = (publish.u8() & 1) != 0;

    const std::string header = read_frame();
    Reader content(header);
    content.u32();
    const std::uint64_t body_size = content.u64();
    message.property_flags = content.u16();
    message.properties = content.rest();
    Reader properties(message.properties);
    const auto has = [&message](int bit) { return (message.property_flags >> bit & 1) != 0; };
    if (has(15))
        properties.short_string(); // content_type
    if (has(13))
        properties.long_string(); // headers
    if (has(12))
        properties.u8(); // delivery_mode
    if (has(7))
        message.message_id = properties.short_string();
    while (message.body.size() < body_size)
        message.body += read_frame();
    return message;
}

bool Peer::wait_for_hangup(std::chrono::milliseconds limit) const
{
    limit_reads(socket_, limit);
    char buffer[65536];
    ssize_t size = 0;
    while ((size = ::recv(socket_, buffer, sizeof buffer, 0)) > 0)
        continue;
    return size == 0 || errno == ECONNRESET;
}

void Peer::send(std::string_view bytes) const
{
    const std::size_t step = trickle_ ? 1 : bytes.size();
    for (std::size_t sent = 0; sent < bytes.size(); sent += step)
        if (::send(socket_, bytes.data() + sent, step, MSG_NOSIGNAL) != static_cast<ssize_t>(step))
            throw std::runtime_error("client hung up while the broker sent");
}

void Peer::send_method(std::uint16_t on_channel, std::uint32_t id, std::string_view arguments)
{
    send(method_bytes(on_channel, id, arguments));
}

void Peer::ack(std::uint64_t tag, bool multiple)
{
    send_method(channel, method::ack, Writer().u64(tag).u8(multiple ? 1 : 0).bytes());
}

void Peer::nack(std::uint64_t tag, bool multiple)
{
    send_method(channel, method::nack, Writer().u64(tag).u8(multiple ? 1 : 0).bytes());
}

void Peer::give_back(const Published &message, std::uint16_t code, std::string_view text)
{
    send_method(
        channel, method::returned,
        Writer().u16(code).short_string(text).short_string(message.exchange).short_string(message.routing_key).bytes());
    send(frame(
        header_frame, channel,
        Writer().u16(60).u16(0).u64(message.body.size()).u16(message.property_flags).raw(message.properties).bytes()));
    constexpr std::size_t part = 3000;
    for (std::size_t sent = 0; sent < message.body.size(); sent += part)
        send(frame(body_frame, channel, std::string_view(message.body).substr(sent, part)));
}

void Peer::close_channel(std::uint16_t code, std::string_view text)
{
    send_method(channel, method::channel_close, Writer().u16(code).short_string(text).u32(0).bytes());
}

void Peer::close_connection(std::uint16_t code, std::string_view text)
{
    send_method(0, method::connection_close, Writer().u16(code).short_string(text).u32(0).bytes());
}

void Peer::block(std::string_view reason)
{
    send_method(0, method::blocked, Writer().short_string(reason).bytes());
}

void Peer::unblock()
{
    send_method(0, method::unblocked);
}

std::string Peer::read_bytes(std::size_t size) const
{
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
        const ssize_t got = ::recv(socket_, bytes.data() + done, size - done, 0);
        if (got <= 0)
            throw std::runtime_error(got == 0 ? "client hung up" : "client did not send in time");
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

FakeBroker::FakeBroker(Script script) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // Small, so that a script which does not read makes the client's send buffer full soon.
    const int receive_buffer = 65536;
    setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 || ::listen(listener_, 1) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size) != 0)
        throw std::runtime_error("no loopback port for the fake broker");
    port_ = ntohs(address.sin_port);
    limit_reads(listener_, std::chrono::seconds(10));
    thread_ = std::thread([this, script = std::move(script)] { play(script); });
}

FakeBroker::~FakeBroker()
{
    finish();
    ::close(listener_);
}

const std::string &FakeBroker::finish()
{
    if (thread_.joinable())
        thread_.join();
    return error_;
}

void FakeBroker::play(const Script &script)
{
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
        error_ = "no client connected";
        return;
    }
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    limit_reads(socket, std::chrono::seconds(10));
    try {
        Peer peer(socket);
        script(peer);
    } catch (const std::exception &error) {
        error_ = error.what();
    }
    ::close(socket);
}

} // namespace outbox::test
