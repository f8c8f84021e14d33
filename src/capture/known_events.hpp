// What the log tells about the entities of one type: the latest event of each, read once and looked up often. The log
// has no index by entity: asking it for each row would read it for each row.
//
// Server regime. Needs an SPI connection, and lives in the memory context it was read in.
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "access/transam.h"
#include "datatype/timestamp.h"
#include "utils/hsearch.h"
}

namespace outbox::capture {

struct KnownEvents {
    const text *entity_type;
    HTAB *latest;
    FullTransactionId oldest_unseen; // events of this transaction or later ones may have been missed
};

// Reads the events from this id on.
KnownEvents read_known_events(const text *entity_type, log::EventId since);

// There is an event of the entity with a higher id; only what was read counts.
bool has_later_event(const KnownEvents &known, const text *entity_id, log::EventId id);

// There is an event of the entity that was made at this time or later; only what was read counts.
bool has_event_since(const KnownEvents &known, const text *entity_id, TimestampTz time);

// The same, of the events that were committed after the others had been read.
bool has_new_event_since(const KnownEvents &known, const text *entity_id, TimestampTz time);

} // namespace outbox::capture
