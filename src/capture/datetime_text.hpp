// Dates and timestamps as JsonEncodeDateTime writes them, at a fraction of its price: nearly every row has some.
// Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"
}

namespace outbox::capture {

constexpr int datetime_room = MAXDATELEN + 1;

// Each writes into datetime_room bytes and returns the end of the text.
char *write_date(char *text, DateADT date);
char *write_timestamp(char *text, Timestamp timestamp);
char *write_timestamptz(char *text, TimestampTz timestamp); // in UTC

} // namespace outbox::capture
