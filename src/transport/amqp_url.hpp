// amqp:// URLs, by the RabbitMQ URI specification (https://www.rabbitmq.com/docs/uri-spec), with one addition: several
// hosts, separated by commas, as the URLs of PostgreSQL's own clients have them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outbox::transport {

// One place where the broker, or one node of its cluster, listens.
struct Endpoint {
    std::string host = "localhost";
    std::uint16_t port = 5672;
    bool operator==(const Endpoint &) const = default;
};

struct AmqpUrl {
    std::string user = "guest";
    std::string password = "guest";
    std::vector<Endpoint> endpoints{{}}; // never empty; tried in this order
    std::string vhost = "/";
    bool tls = false; // amqps

    // For log lines and statistics: amqp(s)://user@host:port/vhost, percent-encoded, without the password, with
    // one of the endpoints.
    std::string redacted(const Endpoint &endpoint) const;
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

// Hosts with or without a port, separated by commas, as they stand in a URL. Throws UrlError.
std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port);

inline constexpr std::uint16_t plain_port = 5672;
inline constexpr std::uint16_t tls_port = 5671;

} // namespace outbox::transport
