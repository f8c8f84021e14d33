#include "relay/claims.hpp"

#include <algorithm>
#include <string_view>

namespace outbox::relay {

namespace {

// FNV-1a, with a byte between the parts that no UTF-8 text contains.
class KeyHash {
  public:
    void add(std::string_view text)
    {
        for (const char c : text)
            add(static_cast<unsigned char>(c));
        add(0xFF);
    }
    std::uint64_t value() const { return value_; }

  private:
    void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

} // namespace

OrderingKey ordering_key_of(const log::EventView &event)
{
    const auto &key = event.ordering_key ? event.ordering_key : event.entity_id;
    if (!key)
        return std::nullopt;
    KeyHash hash;
    hash.add(event.entity_type.value_or(""));
    hash.add(*key);
    return hash.value();
}

void Claims::add(Claim claim)
{
    const Seq seq = first_ + claims_.size();
    claim.state = Claim::State::ready;
    if (claim.key) {
        const auto [last, is_first] = last_of_key_.try_emplace(*claim.key, seq);
        if (!is_first) {
            (*this)[last->second].next_of_key = seq;
            last->second = seq;
            claim.state = Claim::State::waiting;
        }
    }
    if (claim.state == Claim::State::ready)
        ready_.push(seq);
    ++unsettled_;
    bytes_ += claim.bytes;
    claims_.push_back(std::move(claim));
}

std::optional<Seq> Claims::next_ready() const
{
    return ready_.empty() ? std::nullopt : std::optional(ready_.top());
}

void Claims::published(Seq seq)
{
    Claim &claim = (*this)[seq];
    claim.state = Claim::State::in_flight;
    claim.out_before = true;
    bytes_in_flight_ += claim.bytes;
    ready_.pop(); // only the first ready claim is published
}

void Claims::settled(Seq seq)
{
    Claim &claim = (*this)[seq];
    claim.state = Claim::State::settled;
    --unsettled_;
    bytes_ -= claim.bytes;
    bytes_in_flight_ -= claim.bytes;
    claim.message = {};
    if (claim.next_of_key != 0) {
        (*this)[claim.next_of_key].state = Claim::State::ready;
        ready_.push(claim.next_of_key);
    } else if (claim.key) {
        last_of_key_.erase(*claim.key);
    }
    drop_settled_prefix();
}

void Claims::came_back(Seq seq)
{
    Claim &claim = (*this)[seq];
    claim.state = Claim::State::ready;
    bytes_in_flight_ -= claim.bytes;
    ready_.push(seq);
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
        known.push_back({claim.id, claim.state == Claim::State::settled});
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
