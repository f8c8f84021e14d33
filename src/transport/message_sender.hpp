// Sends one message at a time, frame by frame (method, header, body ...), without ever waiting.
//
// amqp_basic_publish() is not used: it waits without a limit where the socket's buffer is full. Each frame goes out
// only when SendRoom grants it; how far the message got is remembered for the next try.
#pragma once

#include "transport/amqp_content.hpp"
#include "transport/message.hpp"
#include "transport/rabbitmq_c.hpp"
#include "transport/send_room.hpp"

#include <cstddef>
#include <string>

namespace outbox::transport {

class MessageSender {
  public:
    // The connection must outlive the sender.
    MessageSender(amqp_connection_state_t connection, std::string exchange);

    std::size_t frame_max() const { return frame_max_; }
    bool half_sent() const { return next_ != Next::nothing; }
    // True if a message can be begun: none is half sent, and the socket takes more.
    bool ready() { return !half_sent() && room_.any(); }
    bool wants_write() const { return half_sent() || room_.exhausted(); }

    // Sends the message, or its beginning. It must stay where it is until half_sent() is false.
    void begin(const Message &message);
    // Sends what is left, as far as the socket takes it.
    void send_on();
    // Lets go what was held back to fill packets.
    void flush();

  private:
    enum class Next { nothing, method, header, body };

    bool send(amqp_frame_t &frame, std::size_t size);
    bool send_method();
    bool send_header();
    bool send_body();
    void cork(bool on);

    amqp_connection_state_t connection_;
    std::string exchange_;
    std::size_t frame_max_;
    SendRoom room_;
    ContentHeader content_;
    Next next_ = Next::nothing;
    const Message *message_ = nullptr;
    std::size_t body_sent_ = 0;
    bool corked_ = false;
};

} // namespace outbox::transport
