// amqp:// URLs, by the RabbitMQ URI specification (https://www.rabbitmq.com/docs/uri-spec).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outbox::transport {

struct AmqpUrl {
    std::string user = "guest";
    std::string password = "guest";
    std::string host = "localhost";
    std::uint16_t port = 5672;
    std::string vhost = "/";

    // For log lines and statistics: amqp://user@host:port/vhost, percent-encoded, without the password.
    std::string redacted() const;
    bool operator==(const AmqpUrl &) const = default;
};

// What is wrong with a URL, without its password.
class UrlError : public std::invalid_argument {
  public:
    UrlError(const std::string &message, std::string hint) : std::invalid_argument(message), hint_(std::move(hint)) {}
    const std::string &hint() const { return hint_; }

  private:
    std::string hint_;
};

// Throws UrlError. No path: vhost "/". "amqp://h/" names the vhost with the empty name, as the specification
// says: refused with a hint, as RabbitMQ has no such vhost by default.
AmqpUrl parse_amqp_url(std::string_view text);

} // namespace outbox::transport
