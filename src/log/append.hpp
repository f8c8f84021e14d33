// Writes events into the log, from inside the user's transaction (server regime: palloc, no exceptions).
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "utils/jsonb.h"
#include "utils/uuid.h"
}

namespace outbox::log {

// An event to be written. Null pointers are SQL nulls; what is marked required must be set.
// Text is in the database's encoding.
struct NewEvent {
    EventId id;                // 0: append takes one
    const pg_uuid_t *event_id; // null: made from id
    text *event_type;          // required, 1 to 255 bytes
    text *entity_type;
    text *entity_id;
    text *ordering_key; // null: entity_id is the key
    text *payload;      // required: JSON text
    text *workspace_id;
    text *project_id;
    text *initiator_id;
    text *initiator_type; // null: 'USER'
    text *schema_version;
    Jsonb *headers;
};

// Called once after the commit of a transaction that wrote events: they are visible then. Must not raise an
// error. Null: nothing is called.
extern void (*on_events_committed)();

// The next id of the server's clock. Gives the transaction its xid first: for one row, id order is commit order.
EventId take_id();

// Inserts the event into the slice written now, without SPI and without firing triggers; returns its id.
// If event_id_out is given, the row's event_id is stored there.
// Errors: object_not_in_prerequisite_state (library not preloaded, read-only, or no extension in this database).
EventId append(const NewEvent &event, pg_uuid_t *event_id_out = nullptr);

} // namespace outbox::log
