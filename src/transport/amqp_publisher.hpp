// One AMQP 0-9-1 connection with one channel in confirm mode (librabbitmq). Nothing in here waits for the
// broker once it is connected: reading takes what has arrived, sending stops where the socket's buffer is full.
//
// Life: constructed = connected; any Error thrown = the connection is useless, destroy the publisher.
#pragma once

#include "transport/error.hpp"
#include "transport/lease.hpp"
#include "transport/message.hpp"
#include "transport/target.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outbox::transport {

using Clock = std::chrono::steady_clock;

// Chosen by the caller for each message and handed back with its outcome.
using Token = std::uint64_t;

// How the broker answered one message.
struct Outcome {
    enum class Kind {
        confirmed, // basic.ack with no basic.return before it
        returned,  // basic.return (no route), then basic.ack
        refused,   // basic.nack
    };
    Kind kind;
    Token token;
    Clock::duration elapsed;      // since the publish
    std::uint16_t reply_code = 0; // of basic.return
    std::string reply_text;       // of basic.return
};

class AmqpPublisher {
  public:
    // Connects to one of the target's endpoints, logs in, opens the channel, takes the lease, checks or declares the
    // exchange, selects confirms. Throws Error (never with the password in its text) after connect_timeout at the
    // latest.
    AmqpPublisher(const Target &target, const Endpoint &endpoint);
    ~AmqpPublisher(); // closes the socket without a word; see close()
    AmqpPublisher(const AmqpPublisher &) = delete;
    AmqpPublisher &operator=(const AmqpPublisher &) = delete;

    int socket() const;
    Lease lease() const;
    // The reason why the broker can never take this message (too large for its frames or limits, a routing
    // key or type over 255 bytes, ...); empty: it can. Checked before the first frame is sent.
    std::string unfit_reason(const Message &message) const;

    // True when publish() may be called: no message is half sent, the socket takes more, the broker does not block.
    bool ready();
    // Sends the message, or its beginning: the rest goes with later calls of advance(). The message must stay
    // where it is, unchanged, until its outcome. Requires ready() and an empty unfit_reason(). Throws Error.
    void publish(const Message &message, Token token);
    // Reads all that has arrived and sends what is half sent. Calls sink for each outcome. Throws Error.
    void advance(const std::function<void(const Outcome &)> &sink);
    // Ends a burst of publish() calls: what was held back to fill packets goes out. Never waits.
    void flush();

    bool wants_write() const; // wait for the socket to be writable, too
    bool blocked() const;     // connection.blocked is in force
    const std::string &blocked_reason() const;
    std::size_t in_flight() const;
    // When the oldest message in flight was published, with the time the connection was blocked taken out;
    // Clock::time_point::max() when nothing is in flight.
    Clock::time_point oldest_in_flight() const;

    // Says goodbye to the broker; waits at most `limit`. Never throws.
    void close(std::chrono::milliseconds limit) noexcept;

    // Breaks a send that hangs: shuts the socket down, so that the send fails with Error::Kind::lost.
    // Async-signal-safe.
    void interrupt() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace outbox::transport
