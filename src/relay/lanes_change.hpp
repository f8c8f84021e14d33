// A relay's change to another number of lanes (C++ regime, inside a transaction).
//
//   1  all its lanes end in order: the options ask for another number than outbox.relay.lanes
//   2  a snapshot is taken and kept in outbox.relay.lanes_change. No lane has read anything beyond it
//   3  the lanes, as many as before, start again and settle all that is visible in it, and nothing else
//   4  the snapshot is the position of the new lanes: they have everything before it behind them
//
// What a key's old lane had is settled before its new lane begins, so the order per key holds, and nothing is lost or
// repeated. Each step is on record: a restart goes on where it was. Asking for the old number again undoes it.
#pragma once

#include "relay/relay_table.hpp"

namespace outbox::relay {

// Step 2. None of the relay's lanes runs.
void begin_lanes_change(const Relay &relay);
// Is the lane through with step 3?
bool is_drained(const Relay &relay, int lane);
// Step 4. All of them are drained, and none runs.
void finish_lanes_change(const Relay &relay);
// The options ask for the old number again.
void cancel_lanes_change(const Relay &relay);

} // namespace outbox::relay
