// How a session publishes messages that carry several events (batches.hpp). A refused message is tried again in halves,
// until the event is found that is refused alone: that one is parked like any other.
#include "relay/session.hpp"

#include "relay/message.hpp"

#include <algorithm>

namespace outbox::relay {

using transport::Clock;
using transport::Outcome;

// Gathers what is ready, and publishes one message if one is to go out. False: neither.
bool Session::publish_next_batch()
{
    bool gathered = false;
    while (const auto seq = claims_.next_ready()) {
        Claim &claim = claims_[*seq];
        if (claim.out_before && claims_.overtaken(*seq))
            mark_late(claim);
        claims_.gathered(*seq);
        batches_.gather(*seq, claim, Clock::now());
        gathered = true;
    }
    const auto candidates = batches_.next(Clock::now());
    if (!candidates)
        return gathered;
    if (std::vector<Seq> message = fill_batch(*candidates); !message.empty())
        publish_batch(std::move(message));
    return true;
}

// Those that are still to go out, and behind them the next of their keys, as far as there is room.
std::vector<Seq> Session::fill_batch(const std::vector<Seq> &candidates)
{
    std::vector<Seq> message;
    BatchRoom room(config_.batch);
    for (const Seq seq : candidates) {
        if (!claims_.gathered_still(seq))
            continue;
        const Claim &claim = claims_[seq];
        if (parking_.holds_route(claim.id, claim.message.routing_key)) {
            hold_back(seq);
        } else {
            room.take(claim);
            message.push_back(seq);
        }
    }
    for (std::size_t i = 0; i < message.size() && !room.full(); ++i) {
        const auto next = claims_.next_waiting(message[i]);
        if (next && share_a_message(claims_[message[i]], claims_[*next]) &&
            !parking_.holds_route(claims_[*next].id, claims_[*next].message.routing_key) && room.take(claims_[*next]))
            message.push_back(*next);
    }
    return message;
}

void Session::publish_batch(std::vector<Seq> claims)
{
    std::vector<const transport::Message *> parts;
    parts.reserve(claims.size());
    for (const Seq seq : claims)
        parts.push_back(&claims_[seq].message);
    transport::Message message = make_batch(parts, config_.log);
    if (const std::string reason = publisher_.unfit_reason(message); !reason.empty()) {
        claims.size() == 1 ? take_unfit(claims.front(), reason) : split(claims);
        return;
    }

    stats::LaneStats &counts = display_.counts();
    ++counts.published;
    counts.bytes += static_cast<std::int64_t>(message.body.size());
    counts.republished += std::any_of(claims.begin(), claims.end(), [&](Seq seq) { return claims_[seq].out_before; });
    pace_.published();
    for (const Seq seq : claims)
        claims_.published(seq);
    const transport::Token token = ++last_batch_;
    const auto sent = sent_.try_emplace(token, SentBatch{std::move(claims), std::move(message)}).first;
    const SendWatch::Guard guard;
    publisher_.publish(sent->second.message, token);
}

void Session::take_batch_outcome(const Outcome &outcome)
{
    const auto sent = sent_.find(outcome.token);
    const std::vector<Seq> claims = std::move(sent->second.claims);
    sent_.erase(sent);
    switch (outcome.kind) {
    case Outcome::Kind::confirmed:
        for (const Seq seq : claims)
            take_confirm(seq);
        break;
    case Outcome::Kind::returned: // they have the routing key in common that no queue takes
        for (const Seq seq : claims)
            take_return(seq, outcome);
        break;
    case Outcome::Kind::refused:
        claims.size() == 1 ? take_refusal(claims.front()) : take_batch_refusal(claims);
        break;
    }
}

void Session::take_batch_refusal(const std::vector<Seq> &claims)
{
    const bool holds = pace_.refused(Clock::now());
    if (holds)
        hold("a message of " + std::to_string(claims.size()) + " events, the first of them " +
                 claims_[claims.front()].message.message_id,
             refusal_of(claims.front()));
    std::vector<Seq> left;
    for (const Seq seq : claims)
        given_up(claims_[seq]) ? settle(seq) : left.push_back(seq);
    if (!holds)
        return split(left);
    for (const Seq seq : left)
        claims_.came_back(seq);
}

// Each of them is tried again, with at most half as many others.
void Session::split(const std::vector<Seq> &claims)
{
    const auto half = static_cast<std::uint32_t>((claims.size() + 1) / 2);
    for (const Seq seq : claims) {
        claims_[seq].at_most = half;
        claims_.came_back(seq);
    }
}

} // namespace outbox::relay
