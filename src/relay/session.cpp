// The lane loop (docs/architecture.md has the states of a lane as one picture):
//
//   take what the broker answered -> settle, or set aside -> record progress when due -> publish what is allowed,
//   reading on when the claims are used up -> wait for the broker, a commit, or the next thing due
//
// The log is read in session_reading.cpp; messages of several events are in session_batch.cpp, and what happens to
// events that do not get through is in session_parking.cpp.
#include "relay/session.hpp"

#include "pg/compat.hpp"
#include "pg/guard.hpp"
#include "pg/settings.hpp"
#include "relay/crash_mark.hpp"
#include "relay/registry.hpp"
#include "relay/worker.hpp"

#include <algorithm>

extern "C" {
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace settings = pg::settings;
using transport::Clock;
using transport::Outcome;
using namespace std::chrono_literals;

namespace {

constexpr auto probe_after_first = 1s; // a lane that holds tries one message after this,
constexpr auto probe_after_most = 30s; // doubling up to this
constexpr std::chrono::milliseconds idle_record_interval = 20ms;
constexpr auto goodbye_limit = 200ms;
constexpr auto longest_wait = 1s; // the server must be attended at least this often

std::int64_t unix_microseconds()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

} // namespace

Session::Session(const LaneIdentity &identity, int slot, const LaneConfig &config, std::uint32_t relay_changes,
                 transport::AmqpPublisher &publisher, LanePlace &place, LaneDisplay &display)
    : identity_(identity), slot_(slot), config_(config), place_(place), display_(display), publisher_(publisher),
      wait_set_(publisher_.socket()), reader_(place.progress.position, config.limit),
      claims_(place.progress.highest, config.ordering), batches_(config.batch), parking_(config.parking, place.changes),
      pace_(config.max_in_flight, place.careful || !place.progress.position.outstanding.empty(),
            Backoff(probe_after_first, probe_after_most, static_cast<unsigned>(MyProcPid))),
      settled_recorded_(place.progress.settled), reclaims_seen_(lane_entry(slot).reclaim_requests),
      relay_changes_seen_(relay_changes)
{
}

Session::~Session()
{
    update_place();
    // What an earlier session left in doubt, and this one has not read again, still is.
    std::vector<log::EventId> in_doubt = claims_.published_ids();
    for (const log::EventId id : place_.in_doubt)
        if (reader_.position().outstanding.contains(id))
            in_doubt.push_back(id);
    std::sort(in_doubt.begin(), in_doubt.end());
    place_.in_doubt = std::move(in_doubt);
    place_.careful = !place_.in_doubt.empty();
}

void Session::update_place()
{
    log::Position position = reader_.position();
    // What was read again lies below what of the outstanding has not been read again yet.
    log::IdRanges outstanding = claims_.outstanding();
    for (const auto &range : position.outstanding.ranges())
        outstanding.append(range.first, range.last);
    position.outstanding = std::move(outstanding);
    place_.progress.position = std::move(position);
}

Session::End Session::run()
{
    std::exception_ptr failure;
    try {
        const End end = relay();
        if (end != End::reclaimed)
            finish();
        return end;
    } catch (const transport::Error &) {
        throw; // the connection is of no more use
    } catch (...) {
        failure = std::current_exception();
    }
    finish();
    std::rethrow_exception(failure);
}

Session::End Session::relay()
{
    if (!refresh_parking())
        throw std::runtime_error("the parked events are being changed in a transaction that has not ended");
    for (;;) {
        if (const auto end = end_requested())
            return *end;
        if (parking_changed_)
            parking_changed_ = !refresh_parking();
        take_outcomes();
        check_confirm_timeout();
        expire_unroutable();
        record_progress_if_due();
        if (is_drained())
            throw Dismissed("everything up to the change of the number of lanes is settled");
        publish_what_is_allowed();
        show();
        wait();
    }
}

std::optional<Session::End> Session::end_requested()
{
    const bool settings_read = attend_server();
    outlive_crashes();
    if (stop_requested())
        return End::stopped;
    if (reclaims_seen_ != lane_entry(slot_).reclaim_requests)
        return End::reclaimed;
    const std::int64_t memory_limit = settings::worker_memory_limit * 1024L;
    if (memory_limit > 0 && display_.counts().memory > memory_limit)
        return End::oversized;
    const auto changes = relay_changes();
    if (settings_read || changes != relay_changes_seen_) {
        if (load_config(identity_) != config_)
            return End::reconfigured;
        parking_changed_ = parking_changed_ || changes != relay_changes_seen_;
        relay_changes_seen_ = changes;
    }
    return std::nullopt;
}

void Session::take_outcomes()
{
    const SendWatch::Guard guard;
    publisher_.advance([this](const Outcome &outcome) { take_outcome(outcome); });
}

void Session::take_outcome(const Outcome &outcome)
{
    stats::LaneStats &counts = display_.counts();
    counts.confirmed += outcome.kind == Outcome::Kind::confirmed ? 1 : 0;
    counts.returned += outcome.kind == Outcome::Kind::returned ? 1 : 0;
    counts.refused += outcome.kind == Outcome::Kind::refused ? 1 : 0;
    if (outcome.kind == Outcome::Kind::confirmed)
        pace_.confirmed();
    if (config_.options.body == Body::batch)
        return take_batch_outcome(outcome);
    const Seq seq = outcome.token;
    switch (outcome.kind) {
    case Outcome::Kind::confirmed:
        take_confirm(seq);
        break;
    case Outcome::Kind::returned:
        take_return(seq, outcome);
        break;
    case Outcome::Kind::refused:
        take_refusal(seq);
        break;
    }
}

void Session::take_confirm(Seq seq)
{
    stats::LaneStats &counts = display_.counts();
    const Claim &claim = claims_[seq];
    counts.order_breaks += claim.late ? 1 : 0;
    counts.delays.add(unix_microseconds() - claim.created_at);
    if (!parking_.empty()) {
        parking_.delivered(event_of(seq), wall_now());
        if (config_.ordering == Ordering::pipelined)
            parking_.overtaken(claim.key, claim.id);
    }
    if (!place_.warned_of.empty())
        place_.warned_of.erase(claim.message.routing_key);
    place_.progress.settled += claim.parked ? 0 : 1;
    place_.progress_recorded = false;
    claims_.confirmed(seq);
}

// Settled without a confirm. Of a parked one the position knows already.
void Session::settle(Seq seq)
{
    place_.progress.settled += claims_[seq].parked ? 0 : 1;
    place_.progress_recorded = false;
    claims_.settled(seq);
}

void Session::check_confirm_timeout()
{
    if (publisher_.blocked() || publisher_.in_flight() == 0)
        return;
    if (Clock::now() - publisher_.oldest_in_flight() > config_.confirm_timeout)
        throw transport::Error(transport::Error::Kind::lost, "a message was not confirmed within confirm_timeout");
}

void Session::publish_what_is_allowed()
{
    hungry_ = reading_on_ = false;
    while (!hungry_ && !reading_on_ && publisher_.ready() && claims_.bytes_in_flight() < config_.max_in_flight_bytes &&
           pace_.allows(publisher_.in_flight(), Clock::now())) {
        if (publish_next() || load_due())
            continue;
        hungry_ = !read_more();
        // Millions of events may be filtered out, or of other lanes: between two chunks of them the server and the
        // broker are attended.
        reading_on_ = !hungry_ && !claims_.next_ready();
    }
    const SendWatch::Guard guard;
    publisher_.flush();
}

// Returns false if no claim is ready.
bool Session::publish_next()
{
    if (config_.options.body == Body::batch)
        return publish_next_batch();
    const auto seq = claims_.next_ready();
    if (!seq)
        return false;
    Claim &claim = claims_[*seq];
    if (parking_.holds_route(claim.id, claim.message.routing_key)) {
        hold_back(*seq);
        return true;
    }
    if (const std::string reason = publisher_.unfit_reason(claim.message); !reason.empty()) {
        take_unfit(*seq, reason);
        return true;
    }
    if (claim.out_before && claims_.overtaken(*seq))
        mark_late(claim);

    stats::LaneStats &counts = display_.counts();
    ++counts.published;
    counts.bytes += static_cast<std::int64_t>(claim.message.body.size());
    if (claim.out_before)
        ++counts.republished;
    pace_.published();
    claims_.published(*seq);
    const SendWatch::Guard guard;
    publisher_.publish(claim.message, *seq);
    return true;
}

// Everything up to the limit is settled, and on record.
bool Session::is_drained() const
{
    return reader_.at_limit() && claims_.unsettled() == 0 && place_.recorded();
}

bool Session::record_progress()
{
    update_place();
    recorded_at_ = Clock::now();
    settled_recorded_ = place_.progress.settled;
    return record(identity_, place_);
}

// So many parked events have changed that they are not to be kept in memory for longer.
bool Session::changes_due() const
{
    return place_.changes.size() >= static_cast<std::size_t>(config_.batch_size);
}

std::chrono::milliseconds Session::record_interval() const
{
    const bool idle = claims_.unsettled() == 0 && place_.progress.settled != settled_recorded_;
    return idle || changes_due() ? idle_record_interval : std::chrono::milliseconds(settings::progress_interval);
}

void Session::record_progress_if_due()
{
    if (!place_.recorded() && Clock::now() - recorded_at_ >= record_interval())
        record_progress();
}

// An orderly end: waits for the outcome of what is in flight, so that nothing of it is sent again.
void Session::finish()
{
    display_.enter(stats::LaneState::stopping);
    const Time deadline = Clock::now() + std::chrono::milliseconds(settings::stop_timeout);
    while (publisher_.in_flight() > 0 && Clock::now() < deadline) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        wait_set_.wait(publisher_.wants_write(), std::clamp<long>(left.count(), 1, 100), PG_WAIT_EXTENSION);
        attend_server();
        take_outcomes();
    }
    const SendWatch::Guard guard;
    publisher_.close(goodbye_limit);
}

// Claims are there, and neither has anything of them moved since the last look, nor has it to wait.
bool Session::stands_still()
{
    const stats::LaneStats &counts = display_.counts();
    const std::int64_t work =
        counts.published + counts.confirmed + counts.returned + counts.refused + place_.progress.settled;
    const bool moved = std::exchange(work_shown_, work) != work;
    return !moved && !reading_on_ && claims_.unsettled() > 0 && !publisher_.blocked() &&
           pace_.state() != Pace::State::holding && pace_.state() != Pace::State::probing && !parking_.full() &&
           !batches_.due();
}

void Session::show()
{
    stats::LaneStats &counts = display_.counts();
    const Claim *oldest = claims_.oldest();
    counts.in_flight = static_cast<std::int64_t>(publisher_.in_flight());
    counts.claimed = static_cast<std::int64_t>(claims_.unsettled());
    counts.oldest_claim =
        oldest == nullptr
            ? 0
            : GetCurrentTimestamp() -
                  std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - oldest->claimed_at).count();
    if (!stands_still())
        display_.moved();
    display_.show();

    if (publisher_.blocked())
        display_.enter(stats::LaneState::blocked, publisher_.blocked_reason());
    else if (pace_.state() == Pace::State::holding)
        display_.enter(stats::LaneState::holding, held_reason_);
    else if (pace_.state() == Pace::State::probing)
        display_.enter(stats::LaneState::probing, held_reason_);
    else if (parking_.full())
        display_.enter(stats::LaneState::holding, parking_detail());
    else if (config_.limit)
        display_.enter(stats::LaneState::draining, "changing from " + std::to_string(config_.lanes) + " to " +
                                                       std::to_string(config_.options.lanes) + " lanes");
    else if (claims_.unsettled() == 0 && all_read_)
        display_.enter(stats::LaneState::idle, parking_detail());
    else
        display_.enter(stats::LaneState::relaying, parking_detail());
}

// Milliseconds until something is due that neither the socket nor the latch announces.
long Session::wait_limit() const
{
    if (reading_on_)
        return 0;
    Time due = Clock::now() + longest_wait;
    if (all_read_)
        due = std::min(due, read_at_ + poll_.current(std::chrono::milliseconds(settings::poll_interval_min),
                                                     std::chrono::milliseconds(settings::poll_interval_max)));
    if (pace_.state() == Pace::State::holding && publisher_.in_flight() == 0)
        due = std::min(due, std::max(pace_.probe_at(), Clock::now()));
    if (const auto batch = batches_.due(); batch && hungry_)
        due = std::min(due, std::max(*batch, Clock::now()));
    if (hungry_)
        due = std::min(due, next_load());
    if (!place_.recorded())
        due = std::min(due, recorded_at_ + record_interval());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    return std::max<long>(left.count(), 0);
}

void Session::wait()
{
    static const std::uint32_t wait_event = pg::compat::wait_event("OutboxLane");
    const bool latched = wait_set_.wait(publisher_.wants_write(), wait_limit(), wait_event);
    const auto poll = poll_.current(std::chrono::milliseconds(settings::poll_interval_min),
                                    std::chrono::milliseconds(settings::poll_interval_max));
    if (latched || Clock::now() >= read_at_ + poll)
        all_read_ = false;
}

} // namespace outbox::relay
