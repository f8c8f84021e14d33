#include "relay/lanes_change.hpp"

#include "log/progress.hpp"
#include "pg/query.hpp"
#include "relay/commit_actions.hpp"

namespace outbox::relay {

void begin_lanes_change(const Relay &relay)
{
    pg::query("UPDATE outbox.relay SET lanes_change = pg_current_snapshot() WHERE relay_id = $1::int",
              {std::to_string(relay.relay_id)});
}

bool is_drained(const Relay &relay, int lane)
{
    const auto progress = log::load_progress(relay.relay_id, lane);
    return progress && !progress->position.open && progress->position.outstanding.empty() &&
           progress->position.done == relay.lanes_change;
}

void finish_lanes_change(const Relay &relay)
{
    const std::string relay_id = std::to_string(relay.relay_id);
    log::Progress next;
    next.position.done = relay.lanes_change.value();
    std::int64_t settled = 0;
    for (int lane = 0; lane < relay.lanes; ++lane)
        settled += log::load_progress(relay.relay_id, lane).value().settled;
    // All that lies before the snapshot is settled, by whichever lane: no range of outstanding ids may span any of it.
    next.highest = {std::stoll(*pg::query("SELECT coalesce(max(id), 0) FROM outbox.event").front().front())};

    pg::query("DELETE FROM outbox.progress WHERE relay_id = $1::int", {relay_id});
    for (int lane = 0; lane < relay.wanted_lanes; ++lane) {
        next.settled = lane == 0 ? settled : 0;
        log::record_progress(relay.relay_id, lane, next);
    }
    pg::query("UPDATE outbox.relay SET lanes = $2::smallint, lanes_change = NULL WHERE relay_id = $1::int",
              {relay_id, std::to_string(relay.wanted_lanes)});
}

void cancel_lanes_change(const Relay &relay)
{
    pg::query("UPDATE outbox.relay SET lanes_change = NULL WHERE relay_id = $1::int", {std::to_string(relay.relay_id)});
    announce_relay_change_at_commit();
}

} // namespace outbox::relay
