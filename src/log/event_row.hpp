// A row of the log, from the executor's slot to an EventView (server regime).
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "access/transam.h"
#include "executor/tuptable.h"
}

// The columns that EventRow reads, as a select list. The order is event_row.cpp's.
#define OUTBOX_EVENT_ROW_COLUMNS                                                                                       \
    "id, xid, event_id, event_type, entity_type, entity_id, ordering_key, payload, workspace_id, project_id, "         \
    "initiator_id, initiator_type, schema_version, headers, created_at"

namespace outbox::log {

EventId row_id(TupleTableSlot *slot);
FullTransactionId row_xid(TupleTableSlot *slot);

// Bytes of payload, known before it is fetched.
std::size_t row_payload_size(TupleTableSlot *slot);

// Fetches and converts the row. What the view points to lies in the slot or in CurrentMemoryContext.
EventView row_event(TupleTableSlot *slot);

} // namespace outbox::log
