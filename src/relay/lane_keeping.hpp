// What the keeper does with single lanes: it starts them, and gives their places back (C++ regime).
#pragma once

#include "relay/relay_table.hpp"

namespace outbox::relay {

// Sees to it that the lane runs. Returns false if it must be looked at again soon. One that has crashed
// outbox_relay.crash_limit times in a row (crash_mark.hpp) is started every ten minutes only, and shown as failing.
bool keep_lane(const Relay &relay, int lane);
// Somebody has paused the relay, and decides when it goes on.
void forget_crashes_of(const Relay &relay);

// Gives the places of lanes back that no relay has any more, once their workers have ended.
void release_lanes_without_relay(const std::vector<Relay> &relays);
// Has the relay a lane, running or not?
bool has_place(int relay_id);
// Has it one that runs? None that was started before comes up later.
bool has_running_lane(int relay_id);

// Asks every lane of the database to stop.
void stop_lanes();

} // namespace outbox::relay
