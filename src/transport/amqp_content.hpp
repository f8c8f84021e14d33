// A message as AMQP content: its basic properties, and whether frames can carry it.
#pragma once

#include "transport/message.hpp"
#include "transport/rabbitmq_c.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace outbox::transport {

// Bytes of a frame around its payload.
inline constexpr std::size_t frame_overhead = 8;

// Size of the content-header frame, with its overhead.
std::size_t header_frame_size(const Message &message);

// Why the broker can never take this message; empty: it can.
std::string unfit_for(const Message &message, std::size_t frame_max, std::size_t max_message_size);

// The properties of one message at a time, over memory that is used again: no allocation per message.
class ContentHeader {
  public:
    // Points into the message.
    amqp_basic_properties_t &fill(const Message &message);

  private:
    amqp_basic_properties_t properties_{};
    std::vector<amqp_table_entry_t> entries_;
};

} // namespace outbox::transport
