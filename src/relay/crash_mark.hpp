// A lane's mark on disk, which tells its keeper how often in a row the lane has crashed. A crash of any process ends
// all others and clears shared memory, so a lane that crashes again and again would take the database with it: the
// keeper must know, and only a file survives.
//
// A lane leaves the mark when it starts, and takes it back whenever it ends with a word: as asked, on an error, because
// another process crashed or the server is shut down at once. Only a lane that was itself killed leaves it. After ten
// minutes a lane counts as well: crashes before are forgotten.
//
// The mark is not flushed: that of a machine that failed may be lost, and no lane makes machines fail.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "datatype/timestamp.h"
}

namespace outbox::relay {

constexpr TimestampTz well_after = 10 * USECS_PER_MINUTE;

struct Crashes {
    TimestampTz last_start; // of the last lane that crashed
    std::int64_t in_a_row;
};

// Of a lane that does not run.
Crashes read_crashes(Oid database, int relay_id, int lane);
void forget_crashes(Oid database, int relay_id, int lane);

// In the lane itself. The mark is taken back at the latest by a before_shmem_exit callback of the caller.
void leave_crash_mark(Oid database, int relay_id, int lane);
// To be called again and again: once the lane has run for well_after, crashes before it are forgotten.
void outlive_crashes();
void take_crash_mark_back();

} // namespace outbox::relay
