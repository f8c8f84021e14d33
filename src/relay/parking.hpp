// The parked events of a lane, as small entries that mirror outbox.parked: who waits for whom, and who is tried when.
// Plain C++; the events themselves are only in the table.
//
//   key      Its entries go out in the order of their ids. The first is its head; the others wait for it. While one
//            of them is not loaded, every new event of the key must be put behind it.
//   route    A routing key that no queue takes is held: its events are not even sent. One of its heads at a time is
//            the probe, tried with a growing wait; when a queue takes it, the route is free and all its heads are due.
//   loaded   An entry that due() gave out has a claim (claims.hpp), until its outcome is known or it is unloaded.
//   flowing  A key whose last outcome was a delivery: the entries behind its head are loaded along with it.
//
// What changes in the table is left in the ParkedChanges, for the record of progress that passes the events.
#pragma once

#include "relay/parked_row.hpp"

#include <set>
#include <string_view>
#include <unordered_map>

namespace outbox::relay {

struct ParkingRules {
    std::size_t max_parked = 100'000;
    int max_attempts = 20;
    std::chrono::seconds unroutable_ttl{172'800};
    bool dead_blocks = false; // a dead event keeps its key waiting
    bool operator==(const ParkingRules &) const = default;
};

class Parking {
  public:
    // An event that is to be parked, or is: then it was loaded.
    struct Event {
        log::EventId id;
        OrderingKey key;
        std::string_view routing_key;
        bool late = false;
    };
    enum class Fate : std::uint8_t { parked, dead };

    Parking(const ParkingRules &rules, ParkedChanges &changes) : rules_(rules), changes_(&changes) {}
    Parking(Parking &&) = default;
    Parking &operator=(Parking &&) = default;

    // First, takes over the rows of the table that are parked or blocking; then begins with what is due.
    void restore(const ParkedRow &row);
    void begin(WallTime now);

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    bool full() const { return entries_.size() >= rules_.max_parked; }
    bool contains(log::EventId id) const { return entries_.contains(id); }
    // A new event of the key must be put behind those that are parked.
    bool holds_key(const OrderingKey &key) const;
    // The event is not to be sent, because its routing key is held; the probe of it is.
    bool holds_route(log::EventId id, std::string_view routing_key) const;
    bool late(log::EventId id) const { return entries_.at(id).late; }
    // Routing keys that are held, `most` at most.
    std::vector<std::string> held_routes(std::size_t most) const;

    // What happened to an event that was sent, or could not be.
    void delivered(const Event &event, WallTime now);
    void dropped(log::EventId id, WallTime now); // it is settled, and no queue has it
    Fate returned(const Event &event, const std::string &error, WallTime now);
    Fate refused(const Event &event, const std::string &error, WallTime now);
    Fate unfit(const Event &event, const std::string &error, WallTime now);
    // Not sent: its key or its routing key is held.
    void put_behind(const Event &event, WallTime now);
    // An event of the key behind that id was delivered: those parked before it come late.
    void overtaken(const OrderingKey &key, log::EventId by);

    // Loads what is due, `most` at most: the ids. They may be of any order.
    std::vector<log::EventId> due(std::size_t most, WallTime now);
    // When the next one is due; nullopt: nothing waits for a time. Long past: at once.
    std::optional<WallTime> next_due() const;
    // An entry that has a claim already.
    void loaded(log::EventId id);
    // An entry that was loaded and not tried goes back.
    void unload(log::EventId id, WallTime now);
    // Somebody took the row away.
    void forget(log::EventId id, WallTime now);

    // Gives up what has been unroutable for too long; the number of them.
    std::size_t expire(WallTime now);

  private:
    struct Entry;
    struct Key {
        std::set<log::EventId> ids;
        std::size_t unloaded = 0;
        bool flowing = false;
    };
    struct Route {
        const std::string *name = nullptr;
        std::size_t entries = 0;
        bool held = false;
        std::chrono::seconds wait{0};
        WallTime probe_at{};
        std::set<log::EventId> heads; // unroutable, and kept back while the route is held
        std::optional<log::EventId> probe;
        log::EventId last_probe;
    };
    struct Entry {
        OrderingKey key;
        Route *route = nullptr;
        Reason reason = Reason::waiting;
        bool dead = false; // blocking
        bool late = false;
        bool loaded = false;
        bool scheduled = false; // in due_, at `due`
        int attempts = 0;
        WallTime next{};
        WallTime since{};
        WallTime due{};
    };

    Route &route_of(std::string_view name);
    void hold(Route &route, log::EventId id, WallTime now);
    void free(Route &route, WallTime now);
    void plan_probe(Route &route);

    Entry &insert(log::EventId id, const OrderingKey &key, std::string_view routing_key);
    std::pair<Entry &, bool> admit(const Event &event);
    void keep(log::EventId id, Entry &entry, bool is_new, const std::string &error, WallTime now);
    Fate give_up(log::EventId id, Entry &entry, bool is_new, const std::string &error, WallTime now);
    void erase(log::EventId id, WallTime now);
    static void set_reason(Entry &entry, Reason reason, WallTime now);

    bool is_head(log::EventId id, const Entry &entry) const;
    void become_unroutable(log::EventId id, Entry &entry, WallTime now);
    void schedule(log::EventId id, Entry &entry, WallTime now);
    void schedule_at(log::EventId id, Entry &entry, WallTime due);
    void unschedule(log::EventId id, Entry &entry);
    void release_probe(Route &route, log::EventId id);
    void load(log::EventId id, Entry &entry);
    void load_followers(log::EventId head, const Key &key, std::size_t most, std::vector<log::EventId> &ids);
    void mark_unloaded(Entry &entry);
    static ParkedRow row_of(log::EventId id, const Entry &entry, const std::string &error);

    ParkingRules rules_;
    ParkedChanges *changes_;
    std::map<log::EventId, Entry> entries_;
    std::unordered_map<std::uint64_t, Key> keys_;
    std::map<std::string, Route, std::less<>> routes_; // of every entry; they stay where they are
    std::size_t held_routes_ = 0;
    std::set<std::pair<WallTime, log::EventId>> due_;
};

} // namespace outbox::relay
