#include "transport/message_sender.hpp"

#include "transport/amqp_session.hpp"

#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace outbox::transport {

MessageSender::MessageSender(amqp_connection_state_t connection, std::string exchange)
    : connection_(connection), exchange_(std::move(exchange)),
      frame_max_(static_cast<std::size_t>(amqp_get_frame_max(connection))), room_(amqp_get_sockfd(connection))
{
}

void MessageSender::begin(const Message &message)
{
    next_ = Next::method;
    message_ = &message;
    body_sent_ = 0;
    cork(true);
    send_on();
}

void MessageSender::send_on()
{
    room_.recheck();
    bool sent = true;
    while (sent && half_sent()) {
        switch (next_) {
        case Next::method:
            sent = send_method();
            break;
        case Next::header:
            sent = send_header();
            break;
        case Next::body:
            sent = send_body();
            break;
        case Next::nothing:
            break;
        }
    }
}

void MessageSender::flush()
{
    cork(false);
}

// False: the socket does not take it now.
bool MessageSender::send(amqp_frame_t &frame, std::size_t size)
{
    if (!room_.take(size))
        return false;
    frame.channel = publish_channel;
    const int status = amqp_send_frame(connection_, &frame);
    if (status != AMQP_STATUS_OK)
        throw_lost(status);
    return true;
}

bool MessageSender::send_method()
{
    constexpr std::size_t ids_ticket_lengths_bits = 4 + 2 + 2 + 1;
    amqp_basic_publish_t publish{};
    publish.exchange = as_bytes(exchange_);
    publish.routing_key = as_bytes(message_->routing_key);
    publish.mandatory = 1;
    amqp_frame_t frame{};
    frame.frame_type = AMQP_FRAME_METHOD;
    frame.payload.method.id = AMQP_BASIC_PUBLISH_METHOD;
    frame.payload.method.decoded = &publish;
    if (!send(frame, frame_overhead + ids_ticket_lengths_bits + exchange_.size() + message_->routing_key.size()))
        return false;
    next_ = Next::header;
    return true;
}

bool MessageSender::send_header()
{
    amqp_frame_t frame{};
    frame.frame_type = AMQP_FRAME_HEADER;
    frame.payload.properties.class_id = AMQP_BASIC_CLASS;
    frame.payload.properties.body_size = message_->body.size();
    frame.payload.properties.decoded = &content_.fill(*message_);
    if (!send(frame, header_frame_size(*message_)))
        return false;
    next_ = message_->body.empty() ? Next::nothing : Next::body;
    return true;
}

bool MessageSender::send_body()
{
    const std::string_view left = std::string_view(message_->body).substr(body_sent_);
    const std::string_view part = left.substr(0, frame_max_ - frame_overhead);
    amqp_frame_t frame{};
    frame.frame_type = AMQP_FRAME_BODY;
    frame.payload.body_fragment = as_bytes(part);
    if (!send(frame, frame_overhead + part.size()))
        return false;
    body_sent_ += part.size();
    if (part.size() == left.size())
        next_ = Next::nothing;
    return true;
}

// librabbitmq sends every frame by itself: corked, the kernel puts them together into full packets.
void MessageSender::cork(bool on)
{
    if (corked_ == on)
        return;
    const int value = on ? 1 : 0;
    // Without it the packets are smaller; nothing else changes.
    static_cast<void>(setsockopt(amqp_get_sockfd(connection_), IPPROTO_TCP, TCP_CORK, &value, sizeof value));
    corked_ = on;
}

} // namespace outbox::transport
