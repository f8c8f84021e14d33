// Every error here may meet a URL whose password holds an unescaped "/", "?", "#" or "@": nothing of the URL is
// quoted but what cannot be a part of it.
#include "transport/amqp_url.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <arpa/inet.h>

namespace outbox::transport {
namespace {

constexpr const char *form = "Write amqp://user:password@host:port/vhost, with a comma between several host:port.";
constexpr std::size_t short_string_max = 255;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_unreserved(char c)
{
    return is_letter(c) || is_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos;
}

bool is_control(char c)
{
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

std::string decode(std::string_view text, const std::string &part)
{
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                throw UrlError("invalid percent-encoding in the " + part + " of the broker URL",
                               "A percent sign is followed by two hexadecimal digits; write %25 for the sign itself.");
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (is_control(c))
            throw UrlError("control character in the " + part + " of the broker URL", form);
        decoded.push_back(c);
    }
    return decoded;
}

std::string encode(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        if (is_unreserved(c)) {
            encoded.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return encoded;
}

std::string lower(std::string_view text)
{
    std::string lowered(text);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lowered;
}

// Returns what follows "amqp://" or "amqps://".
std::string_view after_scheme(std::string_view text, bool *tls)
{
    const std::size_t end = text.find("://");
    const std::string scheme = lower(text.substr(0, end == std::string_view::npos ? 0 : end));
    if (scheme.empty())
        throw UrlError("broker URL has no scheme", form);
    *tls = scheme == "amqps";
    if (scheme != "amqp" && !*tls)
        throw UrlError("broker URL has an unknown scheme", form);
    return text.substr(end + 3);
}

void refuse_query_and_fragment(std::string_view rest)
{
    struct Parameter {
        std::string_view name;
        std::string_view setting;
    };
    static constexpr std::array<Parameter, 4> known{{
        {"heartbeat", "outbox_relay.heartbeat"},
        {"connection_timeout", "outbox_relay.connect_timeout"},
        {"frame_max", ""},
        {"channel_max", ""},
    }};
    if (rest.find('#') != std::string_view::npos)
        throw UrlError("broker URL has a fragment (\"#\")", "Write %23 for a \"#\" in the user, password or vhost.");
    const std::size_t mark = rest.find('?');
    if (mark == std::string_view::npos)
        return;
    const std::string_view query = rest.substr(mark + 1);
    const std::string_view name = query.substr(0, query.find_first_of("=&"));
    for (const Parameter &parameter : known) {
        if (parameter.name != name)
            continue;
        throw UrlError("query parameter \"" + std::string(name) + "\" of the broker URL is not supported",
                       parameter.setting.empty() ? "It is negotiated with the broker: leave it out."
                                                 : "Use the setting " + std::string(parameter.setting) + ".");
    }
    throw UrlError("broker URL has query parameters, which are not supported",
                   "Use the outbox_relay.* settings. Write %3F for a \"?\" in the user, password or vhost.");
}

void parse_userinfo(std::string_view text, AmqpUrl &url)
{
    if (text.find('@') != std::string_view::npos)
        throw UrlError("broker URL has more than one \"@\"", "Write %40 for a \"@\" in the user or password.");
    const std::size_t colon = text.find(':');
    if (colon == 0 || text.empty())
        throw UrlError("broker URL has an empty user", form);
    if (colon == std::string_view::npos || colon + 1 == text.size())
        throw UrlError("broker URL has a user, but no password", form);
    if (text.find(':', colon + 1) != std::string_view::npos)
        throw UrlError("broker URL has more than one \":\" before the \"@\"",
                       "Write %3A for a \":\" in the user or password.");
    url.user = decode(text.substr(0, colon), "user");
    url.password = decode(text.substr(colon + 1), "password");
}

std::uint16_t parse_port(std::string_view text)
{
    std::uint32_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0 || port > 65535)
        throw UrlError("broker URL has an invalid port",
                       "A port is a number from 1 to 65535; without \":port\" it is 5672, or 5671 for amqps.");
    return static_cast<std::uint16_t>(port);
}

std::string parse_host(std::string_view text)
{
    std::string host = decode(text, "host");
    const bool valid = std::all_of(host.begin(), host.end(), [](char c) { return is_unreserved(c) && c != '~'; });
    if (host.empty())
        throw UrlError("broker URL has no host", form);
    if (!valid || host.size() > 253)
        throw UrlError("broker URL has an invalid host",
                       "A host is a name or an address; write an IPv6 address in brackets: [::1].");
    return host;
}

Endpoint parse_endpoint(std::string_view text, std::uint16_t default_port)
{
    Endpoint endpoint{.port = default_port};
    std::string_view after_host;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        endpoint.host = text.substr(1, end == std::string_view::npos ? 0 : end - 1);
        in6_addr address{};
        if (inet_pton(AF_INET6, endpoint.host.c_str(), &address) != 1)
            throw UrlError("broker URL has an invalid IPv6 address", "Write it in brackets, like [::1].");
        after_host = text.substr(end + 1);
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (std::count(text.begin(), text.end(), ':') > 1)
            throw UrlError("broker URL has more than one \":\" in a host and port",
                           "Write an IPv6 address in brackets, like [::1].");
        endpoint.host = parse_host(text.substr(0, colon));
        after_host = text.substr(colon);
    }
    if (after_host.empty())
        return endpoint;
    if (after_host.front() != ':')
        throw UrlError("broker URL has text between its IPv6 address and its port", form);
    endpoint.port = parse_port(after_host.substr(1));
    return endpoint;
}

std::string parse_vhost(std::string_view path)
{
    if (path.empty())
        throw UrlError("broker URL names the virtual host with the empty name",
                       "Leave out the last \"/\" for the virtual host \"/\", or write it as %2F.");
    if (path.find('/') != std::string_view::npos)
        throw UrlError("broker URL has more than one path segment",
                       "The path is the virtual host: write %2F for a \"/\" in its name.");
    std::string vhost = decode(path, "virtual host");
    if (vhost.size() > short_string_max)
        throw UrlError("virtual host of the broker URL is longer than 255 bytes", form);
    return vhost;
}

} // namespace

std::vector<Endpoint> parse_endpoints(std::string_view text, std::uint16_t default_port)
{
    std::vector<Endpoint> endpoints;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        endpoints.push_back(parse_endpoint(text.substr(begin, end - begin), default_port));
        begin = end + 1;
    }
    return endpoints;
}

AmqpUrl parse_amqp_url(std::string_view text)
{
    if (std::any_of(text.begin(), text.end(), [](char c) { return c == ' ' || is_control(c); }))
        throw UrlError("broker URL has a space or control character", "Write %20 for a space.");
    AmqpUrl url;
    const std::string_view rest = after_scheme(text, &url.tls);
    refuse_query_and_fragment(rest);

    const std::size_t slash = rest.find('/');
    const std::string_view authority = rest.substr(0, slash);
    if (slash != std::string_view::npos && rest.find('@', slash) != std::string_view::npos)
        throw UrlError("broker URL has a \"@\" behind its first \"/\"",
                       "Write %2F for a \"/\" in the user or password, %40 for a \"@\" in the virtual host.");
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos)
        parse_userinfo(authority.substr(0, at), url);
    url.endpoints =
        parse_endpoints(authority.substr(at == std::string_view::npos ? 0 : at + 1), url.tls ? tls_port : plain_port);
    if (slash != std::string_view::npos)
        url.vhost = parse_vhost(rest.substr(slash + 1));
    return url;
}

std::string AmqpUrl::redacted(const Endpoint &endpoint) const
{
    const bool literal = endpoint.host.find(':') != std::string::npos;
    return (tls ? "amqps://" : "amqp://") + encode(user) + "@" + (literal ? "[" + endpoint.host + "]" : endpoint.host) +
           ":" + std::to_string(endpoint.port) + "/" + encode(vhost);
}

} // namespace outbox::transport
