#include "transport/tcp_connect.hpp"

#include "transport/error.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <resolv.h>
#include <sys/socket.h>
#include <unistd.h>

namespace outbox::transport {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int wanted_send_buffer = 1024 * 1024; // the kernel caps it at net.core.wmem_max

struct FreeAddresses {
    void operator()(addrinfo *list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

class Socket {
  public:
    explicit Socket(int fd) : fd_(fd) {}
    ~Socket()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

milliseconds time_left(Clock::time_point deadline)
{
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

std::string error_text(int error)
{
    return std::generic_category().message(error);
}

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
        throw Error(Error::Kind::unreachable, "could not resolve broker host \"" + host + "\": " +
                                                  (status == EAI_SYSTEM ? error_text(errno) : gai_strerror(status)));
    return Addresses(list);
}

void set_option(int fd, int level, int name, int value)
{
    // Each of them only makes things better: a system that lacks one can do without.
    static_cast<void>(setsockopt(fd, level, name, &value, sizeof value));
}

// Waits for a connect in progress. Returns 0 or the error's number.
int finish_connect(int fd, Clock::time_point deadline)
{
    for (;;) {
        pollfd wanted{fd, POLLOUT, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(time_left(deadline).count()));
        if (ready == 0)
            return ETIMEDOUT;
        if (ready < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        int error = 0;
        socklen_t size = sizeof error;
        return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
    }
}

// Returns the socket, or -1 with *error set.
int connect_address(const addrinfo &address, Clock::time_point deadline, int *error)
{
    Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
    if (socket.fd() < 0) {
        *error = errno;
        return -1;
    }
    set_option(socket.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket.fd(), SOL_SOCKET, SO_SNDBUF, wanted_send_buffer);
    // A system-wide net.ipv4.tcp_notsent_lowat would stop sends earlier than SendRoom reckons with.
    set_option(socket.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, INT_MAX);
    *error = ::connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (*error == EINPROGRESS || *error == EINTR)
        *error = finish_connect(socket.fd(), deadline);
    return *error == 0 ? socket.release() : -1;
}

} // namespace

int connect_tcp(const std::string &host, std::uint16_t port, Clock::time_point deadline)
{
    const Addresses addresses = resolve(host, port, deadline);
    int left = 0;
    for (const addrinfo *address = addresses.get(); address != nullptr; address = address->ai_next)
        ++left;

    int error = EHOSTUNREACH;
    for (const addrinfo *address = addresses.get(); address != nullptr; address = address->ai_next, --left) {
        // Each address gets its share, so that one that swallows packets does not hide the next.
        const int fd = connect_address(*address, Clock::now() + time_left(deadline) / left, &error);
        if (fd >= 0)
            return fd;
    }
    throw Error(Error::Kind::unreachable,
                "could not connect to broker " + host + " port " + std::to_string(port) + ": " + error_text(error));
}

} // namespace outbox::transport
