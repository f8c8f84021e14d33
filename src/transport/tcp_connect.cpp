#include "transport/tcp_connect.hpp"

#include "transport/addresses.hpp"
#include "transport/error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace outbox::transport {
namespace {

using Clock = std::chrono::steady_clock;

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
    tune_socket(socket.fd());
    *error = ::connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (*error == EINPROGRESS || *error == EINTR)
        *error = finish_connect(socket.fd(), deadline);
    return *error == 0 ? socket.release() : -1;
}

} // namespace

int connect_tcp(const std::string &host, std::uint16_t port, Clock::time_point deadline)
{
    const Addresses addresses = resolve(host, port, deadline);
    int error = EHOSTUNREACH;
    for (const addrinfo *address = addresses.get(); address != nullptr; address = address->ai_next) {
        const int fd = connect_address(*address, share_of(*address, deadline), &error);
        if (fd >= 0)
            return fd;
    }
    throw Error(Error::Kind::unreachable, "could not connect to broker " + host + " port " + std::to_string(port) +
                                              ": " + std::generic_category().message(error));
}

} // namespace outbox::transport
