// Which parked events are tried when: heads of keys, probes of routing keys, and what flows behind a delivery.
#include "relay/parking.hpp"

#include <algorithm>

namespace outbox::relay {

namespace {

using log::EventId;

constexpr std::chrono::seconds first_wait{1};
constexpr std::chrono::seconds longest_probe_wait{60};
constexpr WallTime at_once = WallTime::min();

} // namespace

void Parking::hold(Route &route, EventId id, WallTime now)
{
    if (!route.held) {
        route.held = true;
        ++held_routes_;
        route.wait = first_wait;
        route.probe_at = now + route.wait;
    } else if (route.probe == id) {
        route.wait = std::min(route.wait * 2, longest_probe_wait);
        route.probe_at = now + route.wait;
    }
}

void Parking::free(Route &route, WallTime now)
{
    route.held = false;
    --held_routes_;
    route.probe.reset();
    for (const EventId id : std::exchange(route.heads, {})) {
        Entry &entry = entries_.at(id);
        unschedule(id, entry);
        schedule(id, entry, now);
    }
}

// The heads take turns: it may be the headers of one that no queue takes.
void Parking::plan_probe(Route &route)
{
    if (!route.held || route.probe || route.heads.empty())
        return;
    auto next = route.heads.upper_bound(route.last_probe);
    if (next == route.heads.end())
        next = route.heads.begin();
    route.probe = *next;
    schedule_at(*next, entries_.at(*next), route.probe_at);
}

void Parking::release_probe(Route &route, EventId id)
{
    if (route.probe != id)
        return;
    route.probe.reset();
    plan_probe(route);
}

// What is tried when

bool Parking::is_head(EventId id, const Entry &entry) const
{
    return !entry.key || *keys_.at(*entry.key).ids.begin() == id;
}

// Its turn has come, but its routing key is held by now.
void Parking::become_unroutable(EventId id, Entry &entry, WallTime now)
{
    set_reason(entry, Reason::unroutable, now);
    entry.next = entry.route->probe_at;
    changes_->change(row_of(id, entry, {}));
}

// Requires a head.
void Parking::schedule(EventId id, Entry &entry, WallTime now)
{
    if (entry.loaded || entry.dead || entry.scheduled)
        return;
    if (entry.reason == Reason::waiting && entry.route->held)
        become_unroutable(id, entry, now);
    if (entry.reason == Reason::unroutable && entry.route->held) {
        entry.route->heads.insert(id);
        plan_probe(*entry.route);
    } else {
        schedule_at(id, entry, entry.reason == Reason::refused ? entry.next : at_once);
    }
}

void Parking::schedule_at(EventId id, Entry &entry, WallTime due)
{
    entry.due = due;
    entry.scheduled = true;
    due_.emplace(due, id);
}

void Parking::unschedule(EventId id, Entry &entry)
{
    if (entry.scheduled)
        due_.erase({entry.due, id});
    entry.scheduled = false;
    entry.route->heads.erase(id);
}

void Parking::load(EventId id, Entry &entry)
{
    unschedule(id, entry);
    entry.loaded = true;
    if (entry.key)
        --keys_.at(*entry.key).unloaded;
    if (entry.route->probe == id)
        entry.route->last_probe = id;
}

void Parking::mark_unloaded(Entry &entry)
{
    entry.loaded = false;
    if (entry.key)
        ++keys_.at(*entry.key).unloaded;
}

std::vector<EventId> Parking::due(std::size_t most, WallTime now)
{
    std::vector<EventId> ids;
    while (ids.size() < most && !due_.empty() && due_.begin()->first <= now) {
        const EventId id = due_.begin()->second;
        Entry &entry = entries_.at(id);
        if (holds_route(id, *entry.route->name)) {
            unschedule(id, entry);
            if (entry.reason != Reason::unroutable)
                become_unroutable(id, entry, now);
            schedule(id, entry, now);
            continue;
        }
        load(id, entry);
        ids.push_back(id);
        if (entry.key)
            load_followers(id, keys_.at(*entry.key), most, ids);
    }
    return ids;
}

void Parking::load_followers(EventId head, const Key &key, std::size_t most, std::vector<EventId> &ids)
{
    if (!key.flowing)
        return;
    for (auto next = key.ids.upper_bound(head); next != key.ids.end() && ids.size() < most; ++next) {
        Entry &entry = entries_.at(*next);
        if (entry.dead || entry.loaded || entry.route->held)
            return;
        load(*next, entry);
        ids.push_back(*next);
    }
}

void Parking::loaded(EventId id)
{
    if (Entry &entry = entries_.at(id); !entry.loaded)
        load(id, entry);
}

void Parking::unload(EventId id, WallTime now)
{
    const auto found = entries_.find(id);
    if (found == entries_.end() || !found->second.loaded)
        return;
    mark_unloaded(found->second);
    release_probe(*found->second.route, id);
    if (is_head(id, found->second))
        schedule(id, found->second, now);
}

void Parking::forget(EventId id, WallTime now)
{
    if (entries_.contains(id))
        erase(id, now);
}

} // namespace outbox::relay
