// A row of outbox.parked without its copy of the event, and what is to become of such rows with the next record of
// progress. Plain C++.
#pragma once

#include "relay/claims.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outbox::relay {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

inline WallTime wall_now()
{
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

enum class Reason : std::uint8_t {
    refused,    // basic.nack: its attempts count
    unroutable, // no queue takes its routing key: they do not
    waiting,    // another of its key is before it
    unfit,      // no broker takes such a message
    skipped,    // given up by hand
};

struct ParkedRow {
    log::EventId id;
    OrderingKey key;
    std::string routing_key;
    bool dead = false;
    bool blocking = false; // dead, and its key waits until someone decides
    Reason reason = Reason::waiting;
    int attempts = 0;
    std::optional<WallTime> next_attempt; // nullopt: it waits for the one before it, or is dead
    WallTime since;                       // it has had this reason, or has been dead
    std::string error;                    // empty: none, or the one it has
    bool late = false;                    // a later one of its key may be out
};

// At most one entry of an event in all of them.
class ParkedChanges {
  public:
    void add(ParkedRow row)
    {
        const log::EventId id = row.id;
        added_.insert_or_assign(id, std::move(row));
    }

    void change(ParkedRow row)
    {
        auto &rows = added_.contains(row.id) ? added_ : changed_;
        ParkedRow &known = rows.try_emplace(row.id, row).first->second;
        if (row.error.empty())
            row.error = std::move(known.error);
        known = std::move(row);
    }

    void remove(log::EventId id)
    {
        added_.erase(id);
        changed_.erase(id);
        removed_.push_back(id);
    }

    void clear()
    {
        added_.clear();
        changed_.clear();
        removed_.clear();
    }

    bool empty() const { return size() == 0; }
    std::size_t size() const { return added_.size() + changed_.size() + removed_.size(); }
    const std::map<log::EventId, ParkedRow> &added() const { return added_; }
    const std::map<log::EventId, ParkedRow> &changed() const { return changed_; }
    const std::vector<log::EventId> &removed() const { return removed_; }

  private:
    std::map<log::EventId, ParkedRow> added_;
    std::map<log::EventId, ParkedRow> changed_;
    std::vector<log::EventId> removed_;
};

} // namespace outbox::relay
