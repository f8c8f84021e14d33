// Rows of events, from a query's executor to a function, one by one: a row is shown and forgotten before the next one
// is fetched, so memory does not depend on how many there are. Server regime.
#pragma once

#include "log/event.hpp"
#include "pg/postgres.hpp"

extern "C" {
#include "access/xlogdefs.h"
#include "executor/spi.h"
#include "nodes/params.h"
}

namespace outbox::log {

// Called once for each event. Must not throw. False ends the stream at once.
using Show = bool (*)(void *context, const EventView &event);

struct StreamLimits {
    std::int64_t rows;
    std::size_t bytes; // of payload; one event always fits
};

struct StreamResult {
    bool limited;        // a limit ended it: there may be more
    std::int64_t shown;  // events
    EventId last;        // the last one shown, if any was
    XLogRecPtr flush_to; // the commits of all shown lie before it
};

// Runs the plan, whose select list is OUTBOX_EVENT_ROW_COLUMNS in ascending order of id, in the active snapshot.
// Between SPI_connect and SPI_finish.
StreamResult stream_events(SPIPlanPtr plan, ParamListInfo parameters, const StreamLimits &limits, Show show,
                           void *context);

} // namespace outbox::log
