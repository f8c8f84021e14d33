#include "relay/parking.hpp"

#include <algorithm>

namespace outbox::relay {

namespace {

using namespace std::chrono_literals;
using log::EventId;

constexpr std::chrono::seconds first_wait{1};
constexpr std::chrono::seconds longest_refused_wait{300};
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

} // namespace outbox::relay
