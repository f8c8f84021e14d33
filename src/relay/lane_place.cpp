#include "relay/lane_place.hpp"

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

void record(const LaneIdentity &identity, LanePlace &place)
{
    ++place.progress.seq;
    in_transaction("recording progress", [&] {
        require_extension(identity);
        log::record_progress(identity.relay_id, identity.lane, place.progress);
    });
    place.recorded = true;
}

} // namespace outbox::relay
