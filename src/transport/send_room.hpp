// How much may be sent without waiting. librabbitmq's send waits where the socket's buffer is full, so nothing is
// sent that the buffer does not surely take.
//
// Linux calls a TCP socket writable while at least a third of its send buffer is free (sk_stream_is_writeable), and
// accounts a packet's bookkeeping beside its bytes. After each positive poll() a sixth of the buffer may be filled:
// the other sixth stays free for heartbeats and farewells, which librabbitmq sends by itself, and for what TLS adds
// (some 30 bytes to each 16 kB).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <poll.h>
#include <sys/socket.h>

namespace outbox::transport {

class SendRoom {
  public:
    explicit SendRoom(int socket) : socket_(socket), granted_(send_buffer(socket) / 6) {}

    // The largest frame that fits into what one positive poll() grants. RabbitMQ's own default is 128 kB; from 4.1
    // on it refuses less than 8 kB.
    std::size_t frame_max() const
    {
        const std::size_t fits = granted_ > packet_overhead ? granted_ - packet_overhead : 0;
        return std::clamp<std::size_t>(fits, 8192, 131072);
    }

    // Reserves room for one frame. False: the socket does not take it now.
    bool take(std::size_t frame_size)
    {
        const std::size_t cost = frame_size + packet_overhead;
        if (left_ < cost && !refill())
            return false;
        left_ -= std::min(left_, cost);
        return true;
    }

    // True while a frame may be sent.
    bool any() { return left_ > packet_overhead || refill(); }

    // True from a refusal until the socket was seen writable again.
    bool exhausted() const { return exhausted_; }
    void recheck()
    {
        if (exhausted_)
            refill();
    }

  private:
    // What an skb of its own costs the send buffer beside its bytes, at worst.
    static constexpr std::size_t packet_overhead = 2048;

    static std::size_t send_buffer(int socket)
    {
        int size = 0;
        socklen_t length = sizeof size;
        return getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0 ? static_cast<std::size_t>(size) : 0;
    }

    bool refill()
    {
        pollfd wanted{socket_, POLLOUT, 0};
        int ready = 0;
        do
            ready = ::poll(&wanted, 1, 0);
        while (ready < 0 && errno == EINTR);
        // A broken socket counts as writable: the send then tells what is wrong with it.
        exhausted_ = ready == 0;
        left_ = exhausted_ ? 0 : granted_;
        return !exhausted_;
    }

    int socket_;
    std::size_t granted_;
    std::size_t left_ = 0;
    bool exhausted_ = false;
};

} // namespace outbox::transport
