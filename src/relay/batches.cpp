#include "relay/batches.hpp"

#include <algorithm>

namespace outbox::relay {

namespace {

constexpr char between = '\0'; // occurs in none of the parts

// Equal for what may share a message. Late ones have none.
std::string name_of(const transport::Message &message)
{
    std::string name = message.routing_key;
    if (message.correlation_id.empty() && message.expiration.empty() && !message.priority)
        return name;
    name += between;
    name += message.correlation_id;
    name += between;
    name += message.expiration;
    name += between;
    if (message.priority)
        name += std::to_string(*message.priority);
    return name;
}

} // namespace

bool BatchRoom::take(const Claim &claim)
{
    const std::size_t at_most = claim.at_most == 0 ? at_most_ : std::min<std::size_t>(at_most_, claim.at_most);
    if (events_ > 0 && (events_ >= at_most || claim.bytes > bytes_left_))
        return false;
    at_most_ = at_most;
    ++events_;
    bytes_left_ -= std::min(bytes_left_, claim.bytes);
    return true;
}

bool share_a_message(const Claim &one, const Claim &other)
{
    return !one.late && !other.late && one.message.routing_key == other.message.routing_key &&
           one.message.correlation_id == other.message.correlation_id &&
           one.message.expiration == other.message.expiration && one.message.priority == other.message.priority;
}

Batches::Groups::iterator Batches::open(std::string name, Time now)
{
    const auto group = groups_.emplace_hint(groups_.end(), next_number_++, Group{name, BatchRoom(limits_), now, {}});
    by_name_.emplace(std::move(name), group);
    return group;
}

void Batches::close(Groups::iterator group)
{
    by_name_.erase(group->second.name);
    closed_.push_back(std::move(group->second.claims));
    groups_.erase(group);
}

void Batches::gather(Seq seq, const Claim &claim, Time now)
{
    if (claim.late) {
        closed_.push_back({seq});
        return;
    }
    std::string name = name_of(claim.message);
    const auto found = by_name_.find(name);
    Groups::iterator group = found == by_name_.end() ? open(std::move(name), now) : found->second;
    if (!group->second.room.take(claim)) {
        name = group->second.name;
        close(group);
        group = open(std::move(name), now);
        group->second.room.take(claim);
    }
    group->second.claims.push_back(seq);
    if (group->second.room.full())
        close(group);
}

std::optional<std::vector<Seq>> Batches::next(Time now)
{
    if (closed_.empty() && !groups_.empty() && *due() <= now)
        close(groups_.begin());
    if (closed_.empty())
        return std::nullopt;
    std::vector<Seq> message = std::move(closed_.front());
    closed_.pop_front();
    return message;
}

std::optional<Batches::Time> Batches::due() const
{
    if (!closed_.empty())
        return Time::min();
    if (groups_.empty())
        return std::nullopt;
    return groups_.begin()->second.since + limits_.linger;
}

} // namespace outbox::relay
