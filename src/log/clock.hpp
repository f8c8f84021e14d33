// The clock that event ids are read from: a hybrid logical clock in microseconds, one for the whole server.
//
// An id is max(last + 1, wall clock), taken by compare-and-swap on one word of shared memory. It never goes
// back while the server runs, however the wall clock is set. Across a restart the word is lost: every backend
// raises it to the highest id of its database before it takes its first one (write_target.cpp). Raising only
// ever lifts the word, so it needs neither a lock nor a mark that it was done.
#pragma once

#include "log/event.hpp"

namespace outbox::log {

// From the server's shmem_request_hook and shmem_startup_hook.
void request_clock_shmem();
void attach_clock_shmem();

// The next id. Requires a preloaded library, and that the clock was raised (take_id in append.hpp does both).
EventId tick();

// No later id will be `id` or lower.
void raise_clock(EventId id);

} // namespace outbox::log
