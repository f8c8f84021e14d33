// A lane's place in the log. Plain C++: unit tests include it without a server.
//
//   done         every event visible in this snapshot has been read
//   open         a window that was too large for one chunk: read up to `last` of what is visible in `upper`
//   outstanding  the ids read that are not settled: all that is missing below done and open
//
// (done, open, outstanding) is what a progress row stores; a lane that starts reads `outstanding` again
// first, then goes on behind it.
#pragma once

#include "log/event.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::log {

// pg_snapshot: transactions below xmax that are not in xip (in progress, ascending) are visible.
struct Snapshot {
    std::uint64_t xmin = 1;
    std::uint64_t xmax = 1;
    std::vector<std::uint64_t> xip;

    // The text form of pg_snapshot, "xmin:xmax:xip,xip". Throws std::invalid_argument.
    static Snapshot parse(std::string_view text);
    std::string text() const;
    // As pg_visible_in_snapshot.
    bool sees(std::uint64_t xid) const;
    // From now on the transaction counts as running when the snapshot was taken.
    void hide(std::uint64_t xid);
    bool operator==(const Snapshot &) const = default;
};

// Closed ranges of ids, ascending, apart. Written as int8multirange: "{[1,3),[7,8)}".
class IdRanges {
  public:
    struct Range {
        EventId first;
        EventId last;
        bool operator==(const Range &) const = default;
    };

    static IdRanges parse(std::string_view text); // throws std::invalid_argument
    std::string text() const;

    // Appends; first must lie above everything in here.
    void append(EventId first, EventId last);
    // Takes out everything up to and including id.
    void drop_through(EventId id);
    bool contains(EventId id) const;
    bool empty() const { return ranges_.empty(); }
    const std::vector<Range> &ranges() const { return ranges_; }
    bool operator==(const IdRanges &) const = default;

  private:
    std::vector<Range> ranges_;
};

struct OpenWindow {
    Snapshot upper;
    EventId last;
    bool operator==(const OpenWindow &) const = default;
};

struct Position {
    Snapshot done; // the default sees nothing: the beginning of the log
    std::optional<OpenWindow> open;
    IdRanges outstanding;
    bool operator==(const Position &) const = default;
};

} // namespace outbox::log
