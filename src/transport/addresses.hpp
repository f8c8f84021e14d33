// The addresses of a host, and what connecting to each of them in turn has in common with and without TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <netdb.h>

namespace outbox::transport {

struct FreeAddresses {
    void operator()(addrinfo *list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Throws Error::Kind::unreachable.
Addresses resolve(const std::string &host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

// The address as a number: no look-up takes it apart differently.
std::string numeric(const addrinfo &address);

// When to give up this address, so that one that swallows packets does not hide those that follow it in the list.
std::chrono::steady_clock::time_point share_of(const addrinfo &address, std::chrono::steady_clock::time_point deadline);

std::chrono::milliseconds time_left(std::chrono::steady_clock::time_point deadline);

// Keep-alive, no Nagle's delay, a large send buffer.
void tune_socket(int fd);

} // namespace outbox::transport
