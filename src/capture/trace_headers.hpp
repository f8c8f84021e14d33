// The trace that a transaction belongs to, as headers of its events: traceparent and tracestate, from the settings of
// these names. Server regime.
//
// A trace is worth less than the change it is about: a setting that is no traceparent is left out, and aborts nothing.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace outbox::capture {

// Null: no trace is set. Lives until a setting changes.
Jsonb *trace_headers();

// The headers that an event was given (null: none) and those of the trace, unless these headers name a trace
// themselves.
Jsonb *with_trace_headers(Jsonb *given);

} // namespace outbox::capture
