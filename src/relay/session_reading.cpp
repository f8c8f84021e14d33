// How a session reads the log: a chunk at a time, in a transaction of its own, into claims.
#include "relay/session.hpp"

#include "pg/settings.hpp"
#include "relay/message.hpp"
#include "relay/registry.hpp"
#include "relay/worker.hpp"

#include <algorithm>

namespace outbox::relay {

namespace settings = pg::settings;
using transport::Clock;

namespace {

// A claim that was settled is kept until all before it are: so many events may lie between the oldest unsettled one
// and the newest, in multiples of max_claims.
constexpr std::size_t span_limit = 4;

} // namespace

Claim Session::make_claim(const log::EventView &event) const
{
    Claim claim;
    claim.id = event.id;
    claim.key = ordering_key_of(event);
    claim.created_at = event.created_at;
    claim.claimed_at = Clock::now();
    claim.message.routing_key = config_.options.routing_key.expand(event);
    if (is_held(claim))
        return claim; // its message is not needed now
    claim.message = make_message(event, config_.options, config_.log);
    claim.bytes = claim.message.body.size();
    claim.out_before = std::binary_search(place_.in_doubt.begin(), place_.in_doubt.end(), event.id);
    return claim;
}

bool Session::has_room() const
{
    const auto max_claims = static_cast<std::size_t>(settings::max_claims);
    return claims_.unsettled() < max_claims && claims_.span() < span_limit * max_claims &&
           claims_.bytes() < settings::kilobytes(settings::max_claims_size);
}

// Reads the next chunk of the log, if there is more and it may be claimed; what the filter leaves out is settled by
// that. Returns false if nothing was read.
bool Session::read_more()
{
    // What is put behind others at once is no claim: without the last condition nothing would limit it. What an earlier
    // session left is read in any case, as no parked event is loaded before.
    if (all_read_ || reader_.at_limit() || !has_room() || (parking_.full() && !reader_.rereading()) || changes_due())
        return false;

    // Before the log is read: whoever commits from now on sets the latch, and the next wait ends at once.
    lane_entry(slot_).sleeping = true;
    const log::WindowReader::Limits limits{
        .rows = std::min(config_.batch_size, settings::max_claims - static_cast<std::int64_t>(claims_.unsettled())),
        .bytes = settings::kilobytes(settings::batch_bytes)};
    // The reader moves on only with the claims: an error after it has read, at the commit or for want of memory, would
    // otherwise pass over a batch. A claim that it leaves behind was not published, and is read again.
    log::WindowReader reader = reader_;
    std::vector<Claim> batch;
    batch.reserve(static_cast<std::size_t>(limits.rows));
    auto chunk = log::WindowReader::Chunk::more;
    std::int64_t filtered = 0;
    bool passed_over = false; // of other lanes
    in_transaction("reading the log", [&] {
        require_extension(identity_);
        chunk = reader.read(limits, [&](const log::EventView &event) {
            if (lane_of(ordering_key_of(event), event.id, config_.lanes) != identity_.lane)
                passed_over = true;
            else if (config_.options.filter.passes(event))
                batch.push_back(make_claim(event));
            else
                ++filtered;
        });
    });
    // Read by options that were changed before some of it was committed: it is read again by the new ones.
    if (relay_changes() != relay_changes_seen_)
        return false;
    reader_ = std::move(reader);
    all_read_ = chunk == log::WindowReader::Chunk::all_read;
    read_at_ = Clock::now();
    display_.counts().filtered += filtered;
    if (filtered > 0 || passed_over || reader_.at_limit())
        place_.progress_recorded = false; // or what was passed over would count as backlog, and be read again
    const bool found = !batch.empty();
    found ? poll_.found() : poll_.found_nothing();
    add_read(std::move(batch));
    return found || !all_read_;
}

// Those that have to wait for parked ones become no claims.
void Session::add_read(std::vector<Claim> batch)
{
    for (Claim &claim : batch) {
        place_.progress.highest = std::max(place_.progress.highest, claim.id);
        const bool held = is_held(claim);
        if (!held && !given_up(claim)) {
            claims_.add(std::move(claim));
            continue;
        }
        if (held)
            parking_.put_behind({claim.id, claim.key, claim.message.routing_key}, wall_now());
        ++place_.progress.settled;
        place_.progress_recorded = false;
        claims_.add_settled(claim.id);
    }
}

} // namespace outbox::relay
