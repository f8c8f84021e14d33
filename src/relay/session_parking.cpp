// What a session does with events that do not get through: they are parked in memory (parking.hpp), and in the table
// with the next record of progress; what is due is loaded again as claims.
#include "relay/session.hpp"

#include "pg/settings.hpp"
#include "relay/parked_table.hpp"
#include "relay/worker.hpp"

#include <algorithm>

namespace outbox::relay {

namespace settings = pg::settings;
using transport::Clock;
using namespace std::chrono_literals;

namespace {

constexpr auto load_interval = 20ms;
constexpr auto load_again_after = 200ms; // when the table was locked
constexpr auto least_expiry_interval = 100ms;
constexpr auto longest_expiry_interval = 60s;
constexpr std::size_t most_warnings = 100; // of different routing keys
constexpr std::size_t most_routes_shown = 3;

constexpr const char *dead_hint = "outbox.redrive() gives it fresh attempts, outbox.discard() removes it.";
constexpr const char *full_queue_hint = "A full queue with the overflow policy reject-publish does this: it is tried "
                                        "again, and goes on when there is room.";

} // namespace

// Reads the table again, and drops the claims that somebody has given up meanwhile. False: not now.
bool Session::refresh_parking()
{
    if (!place_.changes.empty() && !record_progress())
        return false;
    Parking fresh(config_.parking, place_.changes);
    in_transaction("reading parked events", [&] {
        require_extension(identity_);
        if (!config_.parking.dead_blocks)
            release_dead(identity_.relay_id);
        load_parked(identity_.relay_id, [&](const ParkedRow &row) {
            if (lane_of(row.key, row.id, config_.lanes) == identity_.lane)
                fresh.restore(row);
        });
        skipped_ = load_skipped(identity_.relay_id);
    });
    fresh.begin(wall_now());
    parking_ = std::move(fresh);
    claims_.for_each_unsettled([&](const Claim &claim) {
        if (claim.parked && parking_.contains(claim.id))
            parking_.loaded(claim.id);
    });
    for (const Seq seq : claims_.find_at_rest([&](const Claim &claim) { return given_up(claim); }))
        settle(seq);
    pace_.probe_now(Clock::now());
    load_after_ = {};
    return true;
}

// Somebody has discarded or skipped it.
bool Session::given_up(const Claim &claim) const
{
    if (claim.parked)
        return !parking_.contains(claim.id);
    return std::binary_search(skipped_.begin(), skipped_.end(), claim.id) || parking_.contains(claim.id);
}

// It has to wait for events that are parked.
bool Session::is_held(const Claim &claim) const
{
    return !parking_.empty() && !parking_.contains(claim.id) &&
           (parking_.holds_key(claim.key) || parking_.holds_route(claim.id, claim.message.routing_key));
}

Parking::Event Session::event_of(Seq seq)
{
    const Claim &claim = claims_[seq];
    return {claim.id, claim.key, claim.message.routing_key, claim.late || claims_.overtaken(seq)};
}

void Session::take_return(Seq seq, const transport::Outcome &outcome)
{
    pace_.returned();
    if (given_up(claims_[seq]))
        return settle(seq);

    const Claim &claim = claims_[seq];
    const std::string &routing_key = claim.message.routing_key;
    const std::string error = "no queue takes it: " + std::to_string(outcome.reply_code) + " " + outcome.reply_text +
                              ", exchange \"" + config_.target.exchange + "\", routing key \"" + routing_key + "\"";
    const bool discards = config_.on_unroutable == OnUnroutable::discard;
    if (place_.warned_of.size() < most_warnings && place_.warned_of.insert(routing_key).second)
        display_.error("event " + claim.message.message_id + ": " + error,
                       discards ? "Events of this routing key are discarded (option on_unroutable)."
                                : "Bind a queue for this routing key: events of it are parked until then.",
                       error);
    if (discards) {
        ++display_.counts().discarded;
        parking_.dropped(claim.id, wall_now());
        return settle(seq);
    }
    if (parking_.returned(event_of(seq), error, wall_now()) == Parking::Fate::dead)
        display_.error("event " + claim.message.message_id + " is dead: " + error, dead_hint, "dead");
    set_aside(seq);
}

std::string Session::refusal_of(Seq seq) const
{
    return "the broker refused it (basic.nack), exchange \"" + config_.target.exchange + "\", routing key \"" +
           claims_[seq].message.routing_key + "\"";
}

void Session::hold(const std::string &what, const std::string &error)
{
    held_reason_ = what + ": " + error;
    display_.error(held_reason_, full_queue_hint, "holding");
}

void Session::take_refusal(Seq seq)
{
    const bool holds = pace_.refused(Clock::now());
    if (given_up(claims_[seq]))
        return settle(seq);

    const std::string error = refusal_of(seq);
    const std::string event = "event " + claims_[seq].message.message_id;
    if (holds) {
        hold(event, error);
        return claims_.came_back(seq);
    }
    if (parking_.refused(event_of(seq), error, wall_now()) == Parking::Fate::dead)
        display_.error(event + " is dead, as its attempts are used up: " + error, dead_hint, "dead");
    else
        display_.error(event + ": " + error, full_queue_hint, "refused");
    set_aside(seq);
}

void Session::take_unfit(Seq seq, const std::string &reason)
{
    parking_.unfit(event_of(seq), reason, wall_now());
    display_.error("event " + claims_[seq].message.message_id + " is dead: " + reason,
                   "No broker takes such a message; outbox_relay.max_message_size limits the body. " +
                       std::string(dead_hint),
                   "dead");
    set_aside(seq);
}

// Its routing key is held by now: it is not sent.
void Session::hold_back(Seq seq)
{
    parking_.put_behind(event_of(seq), wall_now());
    set_aside(seq);
}

// The claim's event was parked, or is dead. If its key is held now, those behind it are parked with it.
void Session::set_aside(Seq seq)
{
    if (!parking_.holds_key(claims_[seq].key))
        return settle(seq);
    for (const Seq each : claims_.with_followers(seq)) {
        const Claim &claim = claims_[each];
        if (each != seq && claim.parked)
            parking_.unload(claim.id, wall_now());
        else if (each != seq)
            parking_.put_behind(event_of(each), wall_now());
        settle(each);
    }
}

// Loads what is due as claims. False: nothing was.
bool Session::load_due()
{
    if (next_load() > Clock::now() || !has_room())
        return false;
    load_after_ = Clock::now() + load_interval;
    // What was parked since the last record is not in the table yet.
    if (!place_.changes.empty() && !record_progress()) {
        load_after_ = Clock::now() + load_again_after;
        return false;
    }

    const std::size_t room = static_cast<std::size_t>(settings::max_claims) - claims_.unsettled();
    std::vector<log::EventId> ids =
        parking_.due(std::min(room, static_cast<std::size_t>(config_.batch_size)), wall_now());
    if (ids.empty())
        return false;
    std::sort(ids.begin(), ids.end());
    std::vector<Claim> batch;
    std::optional<log::EventId> last;
    in_transaction("reading parked events", [&] {
        require_extension(identity_);
        last = read_parked(identity_.relay_id, ids, settings::kilobytes(settings::batch_bytes),
                           [&](const log::EventView &event) {
                               batch.push_back(make_claim(event));
                               batch.back().parked = true;
                           });
    });
    add_loaded(ids, std::move(batch), last);
    return true;
}

// last: the ids behind it were not read.
void Session::add_loaded(const std::vector<log::EventId> &ids, std::vector<Claim> batch,
                         std::optional<log::EventId> last)
{
    auto claim = batch.begin();
    for (const log::EventId id : ids) {
        if (claim != batch.end() && claim->id == id) {
            if (parking_.late(id))
                mark_late(*claim);
            claims_.add(std::move(*claim++));
        } else if (last && id > *last) {
            parking_.unload(id, wall_now());
        } else {
            parking_.forget(id, wall_now());
        }
    }
}

// When load_due() has something to do, if there is room for it.
Session::Time Session::next_load() const
{
    const auto due = parking_.next_due();
    // What an earlier session left unsettled comes first: it may be of the same key, and before the parked event.
    if (!due || !has_room() || reader_.rereading())
        return Time::max();
    const WallTime now = wall_now();
    return *due <= now ? load_after_ : std::max<Time>(load_after_, Clock::now() + (*due - now));
}

void Session::expire_unroutable()
{
    if (parking_.empty() || Clock::now() < expire_at_)
        return;
    if (const std::size_t dead = parking_.expire(wall_now()); dead > 0)
        display_.error(std::to_string(dead) + " events are dead, as no queue took them within unroutable_ttl",
                       dead_hint, "dead");
    expire_at_ = Clock::now() + std::clamp<Clock::duration>(config_.parking.unroutable_ttl / 10, least_expiry_interval,
                                                            longest_expiry_interval);
}

// What the lane cannot get rid of, in a few words; empty: nothing.
std::string Session::parking_detail() const
{
    std::string detail;
    if (parking_.full())
        detail = std::to_string(parking_.size()) + " events are parked (max_parked)";
    std::string routes;
    for (const std::string &name : parking_.held_routes(most_routes_shown))
        routes.append(routes.empty() ? "no queue takes routing key \"" : "\", \"").append(name);
    if (!routes.empty())
        detail.append(detail.empty() ? "" : "; ").append(routes).append("\"");
    return detail;
}

} // namespace outbox::relay
