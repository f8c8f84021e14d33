#include "transport/addresses.hpp"

#include "transport/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <resolv.h>
#include <sys/socket.h>

namespace outbox::transport {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int wanted_send_buffer = 1024 * 1024; // the kernel caps it at net.core.wmem_max

// The resolver's own defaults (5 s, twice, for each name server) would outlast any deadline: one try of a second
// each. Set anew for each look-up, as res_init() reads a changed resolv.conf.
void bound_resolver(Clock::time_point deadline)
{
    if (res_init() != 0)
        return;
    _res.retrans = 1;
    _res.retry = 1;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time_left(deadline)).count();
    _res.nscount = static_cast<int>(std::clamp<std::int64_t>(seconds, 1, std::max(1, _res.nscount)));
}

void set_option(int fd, int level, int name, int value)
{
    // Each of them only makes things better: a system that lacks one can do without.
    static_cast<void>(setsockopt(fd, level, name, &value, sizeof value));
}

} // namespace

Addresses resolve(const std::string &host, std::uint16_t port, Clock::time_point deadline)
{
    bound_resolver(deadline);
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_protocol = IPPROTO_TCP;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo *list = nullptr;
    const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (status != 0)
        throw Error(Error::Kind::unreachable,
                    "could not resolve broker host \"" + host + "\": " +
                        (status == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(status)));
    return Addresses(list);
}

std::string numeric(const addrinfo &address)
{
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        throw Error(Error::Kind::unreachable, "could not write the address of a broker's host as a number");
    return text.data();
}

Clock::time_point share_of(const addrinfo &address, Clock::time_point deadline)
{
    int left = 0;
    for (const addrinfo *each = &address; each != nullptr; each = each->ai_next)
        ++left;
    return Clock::now() + time_left(deadline) / left;
}

std::chrono::milliseconds time_left(Clock::time_point deadline)
{
    using std::chrono::milliseconds;
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

void tune_socket(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, SOL_SOCKET, SO_SNDBUF, wanted_send_buffer);
    // A system-wide net.ipv4.tcp_notsent_lowat would stop sends earlier than SendRoom reckons with.
    set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, INT_MAX);
}

} // namespace outbox::transport
