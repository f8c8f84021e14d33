#include "relay/lane_place.hpp"

#include "relay/parked_table.hpp"
#include "relay/worker.hpp"

namespace outbox::relay {

LanePlace load_place(const LaneIdentity &identity)
{
    LanePlace place;
    in_transaction("reading progress", [&] {
        if (const auto progress = log::load_progress(identity.relay_id, identity.lane))
            place.progress = *progress;
    });
    return place;
}

bool record(const LaneIdentity &identity, LanePlace &place)
{
    bool recorded = false;
    ++place.progress.seq;
    in_transaction("recording progress", [&] {
        require_extension(identity);
        if (!place.changes.empty() && !lock_parked(identity.relay_id))
            return;
        log::record_progress(identity.relay_id, identity.lane, place.progress);
        write_parked(identity.relay_id, place.changes);
        recorded = true;
    });
    if (recorded) {
        place.progress_recorded = true;
        place.changes.clear();
    }
    return recorded;
}

} // namespace outbox::relay
