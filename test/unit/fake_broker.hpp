// A broker in a thread of the test, on a loopback port: it plays the script it is given to the first client that
// connects, then hangs up. Each of its own reads is bounded, so that a broken client ends the script, not the test.
#pragma once

#include "wire.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace outbox::test {

// A message as it came over the wire.
struct Published {
    std::string exchange;
    std::string routing_key;
    bool mandatory = false;
    std::uint16_t property_flags = 0;
    std::string properties; // what follows the flags
    std::string message_id;
    std::string body;
};

// The broker's end of the connection.
class Peer {
  public:
    explicit Peer(int socket) : socket_(socket) {}

    // All up to the confirm.select-ok, for a client that checks an exchange (or, without one, does not).
    void handshake(bool exchange = true);
    void start(); // up to the client's connection.start-ok
    void tune(std::uint32_t frame_max = 131072, std::uint16_t heartbeat = 0);
    void open(); // up to channel.open-ok
    void confirm();

    // Reads the next method, or throws if it is another one; returns its arguments.
    std::string expect(std::uint32_t id);
    // The next message, read whole. Heartbeats between are passed over.
    Published read_message();
    // The bytes of the next frame's payload.
    std::string read_frame(std::uint8_t *type = nullptr);
    // Reads and forgets until the client hangs up or `limit` has passed; true: it hung up.
    bool wait_for_hangup(std::chrono::milliseconds limit = std::chrono::seconds(10)) const;

    void send(std::string_view bytes) const;
    void send_method(std::uint16_t channel, std::uint32_t id, std::string_view arguments = {});
    void ack(std::uint64_t tag, bool multiple = false);
    void nack(std::uint64_t tag, bool multiple = false);
    void give_back(const Published &message, std::uint16_t code = 312, std::string_view text = "NO_ROUTE");
    void close_channel(std::uint16_t code, std::string_view text);
    void close_connection(std::uint16_t code, std::string_view text);
    void block(std::string_view reason);
    void unblock();

    // Every byte in a packet of its own.
    void trickle() { trickle_ = true; }

    const std::string &client_properties() const { return client_properties_; }
    std::uint32_t frame_max() const { return frame_max_; }

  private:
    std::string read_bytes(std::size_t size) const;

    int socket_;
    bool trickle_ = false;
    std::string client_properties_;
    std::uint32_t frame_max_ = 0;
};

class FakeBroker {
  public:
    using Script = std::function<void(Peer &)>;

    explicit FakeBroker(Script script);
    ~FakeBroker();
    FakeBroker(const FakeBroker &) = delete;
    FakeBroker &operator=(const FakeBroker &) = delete;

    std::uint16_t port() const { return port_; }
    // Waits for the script's end. Its error, if it ended with one; empty: it was played to the end.
    const std::string &finish();

  private:
    void play(const Script &script);

    int listener_;
    std::uint16_t port_ = 0;
    std::string error_;
    std::thread thread_;
};

} // namespace outbox::test
