// The net under the transport's promise never to wait: a timer that breaks a call into it that hangs.
#pragma once

#include "transport/amqp_publisher.hpp"

#include <csignal>

namespace outbox::relay {

class SendWatch {
  public:
    // Watches one publisher at a time.
    explicit SendWatch(const transport::AmqpPublisher &publisher);
    ~SendWatch();
    SendWatch(const SendWatch &) = delete;
    SendWatch &operator=(const SendWatch &) = delete;

    // Around every call that sends, and nothing else: a slow read of the log must not cost the connection.
    class Guard {
      public:
        Guard();
        ~Guard();
        Guard(const Guard &) = delete;
        Guard &operator=(const Guard &) = delete;
    };
};

} // namespace outbox::relay
