// A TCP connection within a deadline, made by ourselves: librabbitmq spends all its time on the first address
// that does not answer, and does not tell why it failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace outbox::transport {

// Tries the addresses of the host in turn. Returns a socket (non-blocking, close-on-exec, without Nagle's delay,
// with a large send buffer) that the caller owns. Throws Error::Kind::unreachable.
int connect_tcp(const std::string &host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

} // namespace outbox::transport
