// Reads the log window by window (C++ regime). See docs/architecture.md, "The window algorithm".
//
// Must be called inside a transaction with no snapshot pushed; it takes its own and leaves none behind.
#pragma once

#include "log/event.hpp"
#include "log/position.hpp"

#include <cstddef>
#include <functional>

namespace outbox::log {

class WindowReader {
  public:
    // Starts at a position: what is outstanding there comes first.
    // limit: nothing is read that is not visible in it; the position must not be beyond it.
    explicit WindowReader(Position position, std::optional<Snapshot> limit = std::nullopt);

    struct Limits {
        std::int64_t rows; // per chunk
        std::size_t bytes; // of payload per chunk; one event always fits
    };

    // How a chunk ended. `all_read`: nothing visible is left behind it. `more`: a limit was reached.
    enum class Chunk { all_read, more };

    // Calls sink once per event of the next chunk, in reading order. Before it returns, every transaction
    // whose events it showed is flushed to disk on this server (G3). If sink throws or the server raises,
    // the reader's position is as before the call; pg::Error for the latter.
    Chunk read(const Limits &limits, const std::function<void(const EventView &)> &sink);

    // True while the events read are those that were outstanding at the start.
    bool rereading() const;

    // Everything up to the limit has been read.
    bool at_limit() const;

    // The position behind what has been read. Its `outstanding` holds what of the starting position's
    // outstanding ids has not been read again yet; the caller adds its own unsettled events.
    const Position &position() const { return position_; }

  private:
    Position position_;
    std::optional<Snapshot> limit_;
};

} // namespace outbox::log
