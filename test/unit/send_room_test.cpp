#include "transport/send_room.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include <ostream>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace outbox::transport {
namespace {

// A TCP connection within the process, non-blocking at both ends. Nobody reads unless drain() is called.
class Connected {
  public:
    explicit Connected(int send_buffer)
    {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto *any = reinterpret_cast<sockaddr *>(&address);
        sender_ = ::socket(AF_INET, SOCK_STREAM, 0);
        const int on = 1;
        const int receive_buffer = 65536; // fixed: the kernel would let it grow while it is drained
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        setsockopt(sender_, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
        setsockopt(sender_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::bind(listener, any, size) != 0 || ::listen(listener, 1) != 0 ||
            ::getsockname(listener, any, &size) != 0 || ::connect(sender_, any, size) != 0)
            throw std::runtime_error("no loopback connection");
        receiver_ = ::accept(listener, nullptr, nullptr);
        ::close(listener);
    }
    ~Connected()
    {
        ::close(sender_);
        ::close(receiver_);
    }
    Connected(const Connected &) = delete;
    Connected &operator=(const Connected &) = delete;

    int sender() const { return sender_; }

    // True if the socket took all of it at once.
    bool send(std::size_t size) const
    {
        const std::string bytes(size, 'x');
        return ::send(sender_, bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
    }

    void drain() const
    {
        char buffer[65536];
        while (::recv(receiver_, buffer, sizeof buffer, MSG_DONTWAIT) > 0)
            continue;
    }

  private:
    int sender_ = -1;
    int receiver_ = -1;
};

struct Shape {
    int send_buffer;
    std::size_t frame; // 0: the largest
    friend void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.send_buffer << '/' << shape.frame; }
};

class SendRoomTest : public testing::TestWithParam<Shape> {};

TEST_P(SendRoomTest, WhatItGrantsTheSocketTakesAndRoomIsLeftForHeartbeats)
{
    const Connected connection(GetParam().send_buffer);
    SendRoom room(connection.sender());
    const std::size_t frame = GetParam().frame != 0 ? GetParam().frame : room.frame_max();
    for (int round = 0; round < 20; ++round) {
        int sent = 0;
        for (; sent < 1000000 && room.take(frame); ++sent)
            ASSERT_TRUE(connection.send(frame)) << "frame " << sent << " of round " << round;
        ASSERT_TRUE(room.exhausted());
        for (int heartbeat = 0; heartbeat < 4; ++heartbeat)
            ASSERT_TRUE(connection.send(8)) << "round " << round;
        // The kernel's acknowledgements take a moment on a busy machine.
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        do {
            connection.drain();
            room.recheck();
        } while (room.exhausted() && std::chrono::steady_clock::now() < deadline);
        ASSERT_FALSE(room.exhausted());
    }
}

INSTANTIATE_TEST_SUITE_P(SendRoom, SendRoomTest,
                         testing::Values(Shape{1024 * 1024, 0}, Shape{1024 * 1024, 20}, Shape{1024 * 1024, 800},
                                         Shape{106496, 0}, Shape{106496, 20}, Shape{106496, 5000}, Shape{65536, 0}));

TEST(SendRoom, LargestFrameFitsTheSocketAndTheBroker)
{
    EXPECT_EQ(SendRoom(Connected(1024 * 1024).sender()).frame_max(), 131072U);
    EXPECT_EQ(SendRoom(Connected(4096).sender()).frame_max(), 8192U);
    const Connected middle(106496);
    EXPECT_LT(SendRoom(middle.sender()).frame_max(), 106496U * 2 / 6);
    EXPECT_GT(SendRoom(middle.sender()).frame_max(), 30000U);
}

TEST(SendRoom, ABrokenSocketHasRoomSoThatTheSendTellsWhatIsWrong)
{
    const Connected connection(1024 * 1024);
    ::shutdown(connection.sender(), SHUT_RDWR);
    SendRoom room(connection.sender());
    EXPECT_TRUE(room.take(100));
    EXPECT_FALSE(room.exhausted());
}

} // namespace
} // namespace outbox::transport
