// What outbox.capture_failure holds of a table: the events that are owed, one for each row, however often its changes
// failed. Server regime; needs an SPI connection.
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace outbox::capture {

struct OwedEvent {
    Datum failures; // bigint[]: ids, ascending
    log::EventId last;
    bool inserted;     // the INSERT of the row is among them
    bool only_deleted; // nothing else is
};

// Locks the failures of the table and its partitions: two calls never emit the same. In the order of the first
// failures.
OwedEvent *read_owed_events(Oid table, int *count);

// What the last failure says the row holds; null: nothing could be read.
Jsonb *row_data_of(const OwedEvent &owed);

void forget(const OwedEvent &owed);

// It failed again.
void note_error(const OwedEvent &owed, const ErrorData &error);

// In the event trigger on sql_drop: what is owed by the tables that were dropped goes with them, with a warning. A
// table's OID may be used again.
void forget_dropped_tables();

} // namespace outbox::capture
