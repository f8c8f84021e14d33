#include "relay/claims.hpp"

#include <algorithm>

namespace outbox::relay {

void Claims::add(Claim claim)
{
    const Seq seq = first_ + claims_.size();
    bool waits = false;
    if (claim.key) {
        const auto [chain, is_first] = chains_.try_emplace(*claim.key, Chain{seq, seq});
        if (!is_first) {
            (*this)[chain->second.last].next_of_key = seq;
            chain->second.last = seq;
            waits = ordering_ == Ordering::strict;
        }
    }
    ++unsettled_;
    bytes_ += claim.bytes;
    claim.state = Claim::State::waiting;
    claims_.push_back(std::move(claim));
    if (!waits)
        make_ready(seq);
}

void Claims::add_settled(log::EventId id)
{
    Claim claim;
    claim.id = id;
    claim.state = Claim::State::settled;
    claims_.push_back(std::move(claim));
    drop_settled_prefix();
}

void Claims::make_ready(Seq seq)
{
    (*this)[seq].state = Claim::State::ready;
    ready_.push(seq);
}

std::optional<Seq> Claims::next_ready()
{
    while (!ready_.empty()) {
        const Seq seq = ready_.top();
        if (seq >= first_ && claim(seq).state == Claim::State::ready)
            return seq;
        ready_.pop();
    }
    return std::nullopt;
}

std::optional<Seq> Claims::next_waiting(Seq seq) const
{
    const Seq next = claim(seq).next_of_key;
    return next != 0 && claim(next).state == Claim::State::waiting ? std::optional(next) : std::nullopt;
}

void Claims::gathered(Seq seq)
{
    (*this)[seq].state = Claim::State::gathered;
}

void Claims::published(Seq seq)
{
    Claim &claim = (*this)[seq];
    claim.state = Claim::State::in_flight;
    claim.out_before = true;
    bytes_in_flight_ += claim.bytes;
}

void Claims::came_back(Seq seq)
{
    Claim &claim = (*this)[seq];
    if (claim.state == Claim::State::in_flight)
        bytes_in_flight_ -= claim.bytes;
    if (ordering_ == Ordering::strict && claim.key && chains_.find(*claim.key)->second.first != seq)
        claim.state = Claim::State::waiting;
    else
        make_ready(seq);
}

void Claims::settled(Seq seq)
{
    Claim &claim = (*this)[seq];
    if (claim.state == Claim::State::in_flight)
        bytes_in_flight_ -= claim.bytes;
    claim.state = Claim::State::settled;
    --unsettled_;
    bytes_ -= claim.bytes;
    claim.message = {};
    if (claim.key)
        leave_chain(*claim.key);
    drop_settled_prefix();
}

void Claims::confirmed(Seq seq)
{
    if (const auto &key = (*this)[seq].key) {
        Chain &chain = chains_.find(*key)->second;
        chain.newest_confirmed = std::max(chain.newest_confirmed, seq);
    }
    settled(seq);
}

// The chain begins with its first unsettled claim, or is gone.
void Claims::leave_chain(std::uint64_t key)
{
    const auto chain = chains_.find(key);
    Seq first = chain->second.first;
    while (first != 0 && claim(first).state == Claim::State::settled)
        first = claim(first).next_of_key;
    if (first == 0) {
        chains_.erase(chain);
        return;
    }
    chain->second.first = first;
    if (claim(first).state == Claim::State::waiting)
        make_ready(first);
}

std::vector<Seq> Claims::with_followers(Seq seq) const
{
    std::vector<Seq> found{seq};
    for (Seq next = claim(seq).next_of_key; next != 0; next = claim(next).next_of_key)
        if (at_rest(claim(next)))
            found.push_back(next);
    return found;
}

bool Claims::overtaken(Seq seq) const
{
    const auto &key = claim(seq).key;
    return key && chains_.find(*key)->second.newest_confirmed > seq;
}

void Claims::drop_settled_prefix()
{
    while (!claims_.empty() && claims_.front().state == Claim::State::settled) {
        interleaved_ = std::max(interleaved_, claims_.front().id);
        claims_.pop_front();
        ++first_;
    }
}

log::IdRanges Claims::outstanding() const
{
    struct Known {
        log::EventId id;
        bool settled;
    };
    std::vector<Known> known;
    known.reserve(claims_.size());
    for (const Claim &claim : claims_)
        known.push_back({claim.id, claim.parked || claim.state == Claim::State::settled});
    std::sort(known.begin(), known.end(), [](const Known &a, const Known &b) { return a.id < b.id; });

    log::IdRanges ranges;
    for (std::size_t i = 0; i < known.size();) {
        if (known[i].settled) {
            ++i;
            continue;
        }
        std::size_t last = i;
        while (known[i].id > interleaved_ && last + 1 < known.size() && !known[last + 1].settled)
            ++last;
        ranges.append(known[i].id, known[last].id);
        i = last + 1;
    }
    return ranges;
}

std::vector<log::EventId> Claims::published_ids() const
{
    std::vector<log::EventId> ids;
    for (const Claim &claim : claims_)
        if (claim.out_before && claim.state != Claim::State::settled)
            ids.push_back(claim.id);
    return ids;
}

} // namespace outbox::relay
