// outbox.parked as a lane reads and writes it (C++ regime, inside a transaction).
#pragma once

#include "log/event.hpp"
#include "relay/parked_row.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace outbox::relay {

const char *name_of(Reason reason);

// Texts of the lane are UTF-8: this one as the database writes it.
std::string in_database(const std::string &text);

// Calls each for the relay's rows that are parked or blocking, in the order of ids; a page of them is in memory.
void load_parked(int relay_id, const std::function<void(const ParkedRow &)> &each);
// Ids that were given up by hand.
std::vector<log::EventId> load_skipped(int relay_id);
// Dead events block their keys no longer.
void release_dead(int relay_id);

// Shows the events of these ids (ascending), in their order, up to so many bytes of payload (one always). Returns the
// last id shown, if there may be more behind it.
std::optional<log::EventId> read_parked(int relay_id, const std::vector<log::EventId> &ids, std::size_t bytes,
                                        const std::function<void(const log::EventView &)> &sink);

// The same for one event of the log; false: there is none of that id.
bool read_from_log(log::EventId id, const std::function<void(const log::EventView &)> &sink);

// Writes the changes: added rows get their copies from the log. A row that someone else has added or taken away
// meanwhile stays as that one left it.
void write_parked(int relay_id, const ParkedChanges &changes);

// False: somebody is changing the relay or its parked events in a transaction that has not ended. Else that waits now.
bool lock_parked(int relay_id);

} // namespace outbox::relay
