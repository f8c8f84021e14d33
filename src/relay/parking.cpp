#include "relay/parking.hpp"

#include <algorithm>

namespace outbox::relay {

namespace {

using namespace std::chrono_literals;
using log::EventId;

constexpr std::chrono::seconds first_wait{1};
constexpr std::chrono::seconds longest_refused_wait{300};
constexpr std::chrono::seconds longest_probe_wait{60};
constexpr WallTime at_once = WallTime::min();

// Doubles with each attempt.
std::chrono::seconds wait_after(int attempts)
{
    return attempts > 16 ? longest_refused_wait : std::min(first_wait * (1 << (attempts - 1)), longest_refused_wait);
}

} // namespace

// Rows and entries

Parking::Route &Parking::route_of(std::string_view name)
{
    auto found = routes_.find(name);
    if (found == routes_.end()) {
        found = routes_.try_emplace(std::string(name)).first;
        found->second.name = &found->first;
    }
    return found->second;
}

Parking::Entry &Parking::insert(EventId id, const OrderingKey &key, std::string_view routing_key)
{
    Entry &entry = entries_[id];
    entry.key = key;
    entry.route = &route_of(routing_key);
    ++entry.route->entries;
    if (key) {
        Key &queue = keys_[*key];
        if (!queue.ids.empty() && id < *queue.ids.begin()) {
            // A transaction that committed late: it goes first.
            const EventId former = *queue.ids.begin();
            unschedule(former, entries_.at(former));
            if (!entries_.at(former).loaded)
                release_probe(*entries_.at(former).route, former);
        }
        queue.ids.insert(id);
        ++queue.unloaded;
    }
    return entry;
}

void Parking::restore(const ParkedRow &row)
{
    Entry &entry = insert(row.id, row.key, row.routing_key);
    entry.reason = row.reason;
    entry.dead = row.dead;
    entry.late = row.late;
    entry.attempts = row.attempts;
    entry.next = row.next_attempt.value_or(at_once);
    entry.since = row.since;
    if (row.dead || row.reason != Reason::unroutable)
        return;
    Route &route = *entry.route;
    route.probe_at = route.held ? std::min(route.probe_at, entry.next) : entry.next;
    route.wait = first_wait;
    held_routes_ += route.held ? 0 : 1;
    route.held = true;
}

void Parking::begin(WallTime now)
{
    for (auto &[id, entry] : entries_)
        if (is_head(id, entry))
            schedule(id, entry, now);
}

ParkedRow Parking::row_of(EventId id, const Entry &entry, const std::string &error)
{
    ParkedRow row;
    row.id = id;
    row.key = entry.key;
    row.routing_key = *entry.route->name;
    row.dead = row.blocking = entry.dead;
    row.reason = entry.reason;
    row.attempts = entry.attempts;
    if (!entry.dead && entry.reason != Reason::waiting)
        row.next_attempt = entry.next;
    row.since = entry.since;
    row.error = error;
    row.late = entry.late;
    return row;
}

void Parking::erase(EventId id, WallTime now)
{
    const auto found = entries_.find(id);
    Entry &entry = found->second;
    Route &route = *entry.route;
    const OrderingKey key = entry.key;
    unschedule(id, entry);
    release_probe(route, id);
    if (key) {
        Key &queue = keys_.at(*key);
        queue.ids.erase(id);
        queue.unloaded -= entry.loaded ? 0 : 1;
        if (queue.ids.empty())
            keys_.erase(*key);
    }
    entries_.erase(found);
    if (--route.entries == 0) {
        held_routes_ -= route.held ? 1 : 0;
        routes_.erase(routes_.find(*route.name));
    }
    if (const auto queue = key ? keys_.find(*key) : keys_.end(); queue != keys_.end())
        schedule(*queue->second.ids.begin(), entries_.at(*queue->second.ids.begin()), now);
}

// Questions

bool Parking::holds_key(const OrderingKey &key) const
{
    if (!key || keys_.empty())
        return false;
    const auto queue = keys_.find(*key);
    return queue != keys_.end() && queue->second.unloaded > 0;
}

bool Parking::holds_route(EventId id, std::string_view routing_key) const
{
    if (held_routes_ == 0)
        return false;
    const auto route = routes_.find(routing_key);
    return route != routes_.end() && route->second.held && route->second.probe != id;
}

std::vector<std::string> Parking::held_routes(std::size_t most) const
{
    std::vector<std::string> names;
    for (auto route = routes_.begin(); route != routes_.end() && names.size() < most; ++route)
        if (route->second.held)
            names.push_back(route->first);
    return names;
}

std::optional<WallTime> Parking::next_due() const
{
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

// Outcomes

std::pair<Parking::Entry &, bool> Parking::admit(const Event &event)
{
    const auto found = entries_.find(event.id);
    const bool is_new = found == entries_.end();
    Entry &entry = is_new ? insert(event.id, event.key, event.routing_key) : found->second;
    entry.late = entry.late || event.late;
    if (entry.loaded)
        mark_unloaded(entry);
    return {entry, is_new};
}

void Parking::set_reason(Entry &entry, Reason reason, WallTime now)
{
    if (entry.reason != reason || entry.since == WallTime{})
        entry.since = now;
    entry.reason = reason;
}

void Parking::keep(EventId id, Entry &entry, bool is_new, const std::string &error, WallTime now)
{
    if (is_new)
        changes_->add(row_of(id, entry, error));
    else
        changes_->change(row_of(id, entry, error));
    release_probe(*entry.route, id);
    if (is_head(id, entry))
        schedule(id, entry, now);
}

Parking::Fate Parking::give_up(EventId id, Entry &entry, bool is_new, const std::string &error, WallTime now)
{
    unschedule(id, entry);
    release_probe(*entry.route, id);
    entry.dead = true;
    entry.since = now;
    ParkedRow row = row_of(id, entry, error);
    row.blocking = rules_.dead_blocks && entry.key;
    const bool stays = row.blocking;
    if (is_new)
        changes_->add(std::move(row));
    else
        changes_->change(std::move(row));
    if (!stays)
        erase(id, now);
    return Fate::dead;
}

void Parking::delivered(const Event &event, WallTime now)
{
    if (const auto route = routes_.find(event.routing_key); route != routes_.end() && route->second.held)
        free(route->second, now);
    if (event.key && entries_.contains(event.id))
        keys_.at(*event.key).flowing = true;
    dropped(event.id, now);
}

void Parking::dropped(EventId id, WallTime now)
{
    if (!entries_.contains(id))
        return;
    changes_->remove(id);
    erase(id, now);
}

Parking::Fate Parking::returned(const Event &event, const std::string &error, WallTime now)
{
    const auto [entry, is_new] = admit(event);
    hold(*entry.route, event.id, now);
    set_reason(entry, Reason::unroutable, now);
    entry.next = entry.route->probe_at;
    if (event.key)
        keys_.at(*event.key).flowing = false;
    if (now - entry.since >= rules_.unroutable_ttl)
        return give_up(event.id, entry, is_new, error, now);
    keep(event.id, entry, is_new, error, now);
    return Fate::parked;
}

Parking::Fate Parking::refused(const Event &event, const std::string &error, WallTime now)
{
    const auto [entry, is_new] = admit(event);
    if (entry.route->held)
        free(*entry.route, now); // a queue was there to refuse it
    set_reason(entry, Reason::refused, now);
    if (event.key)
        keys_.at(*event.key).flowing = false;
    if (++entry.attempts >= rules_.max_attempts)
        return give_up(event.id, entry, is_new, error, now);
    entry.next = now + wait_after(entry.attempts);
    keep(event.id, entry, is_new, error, now);
    return Fate::parked;
}

Parking::Fate Parking::unfit(const Event &event, const std::string &error, WallTime now)
{
    const auto [entry, is_new] = admit(event);
    set_reason(entry, Reason::unfit, now);
    return give_up(event.id, entry, is_new, error, now);
}

void Parking::put_behind(const Event &event, WallTime now)
{
    const auto [entry, is_new] = admit(event);
    if (entry.route->held) {
        set_reason(entry, Reason::unroutable, now);
        entry.next = entry.route->probe_at;
    } else if (is_new) {
        set_reason(entry, Reason::waiting, now);
    }
    keep(event.id, entry, is_new, {}, now);
}

void Parking::overtaken(const OrderingKey &key, EventId by)
{
    const auto queue = key ? keys_.find(*key) : keys_.end();
    if (queue == keys_.end())
        return;
    for (const EventId id : queue->second.ids) {
        if (id >= by)
            break;
        Entry &entry = entries_.at(id);
        if (!std::exchange(entry.late, true))
            changes_->change(row_of(id, entry, {}));
    }
}

std::size_t Parking::expire(WallTime now)
{
    std::vector<EventId> old;
    for (const auto &[id, entry] : entries_)
        if (entry.reason == Reason::unroutable && !entry.loaded && !entry.dead &&
            now - entry.since >= rules_.unroutable_ttl)
            old.push_back(id);
    for (const EventId id : old)
        give_up(id, entries_.at(id), false, {}, now);
    return old.size();
}

// Routes

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
