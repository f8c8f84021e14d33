// What the current transaction has captured, counted here until its end is known: only a commit goes into the shared
// counters (PREPARE TRANSACTION counts as one: the commit may come in another session). What a savepoint's rollback
// takes back is not counted, as the events are not there.
//
// Server regime.
#pragma once

#include "stats/capture_stats.hpp"

extern "C" {
#include "access/xact.h"
}

namespace outbox::stats {

// The counts of one table at one nest level of the transaction.
struct PendingCounts {
    Oid table;
    int nest_level;
    std::int64_t counts[capture_count_kinds];
};

namespace detail {
extern PendingCounts *newest; // null: nothing was counted yet in this transaction
PendingCounts *find_or_add(Oid table, int nest_level);
} // namespace detail

// A nanosecond or two for the rows of one table.
inline void count_capture(Oid table, CaptureCount kind)
{
    const int nest_level = GetCurrentTransactionNestLevel();
    PendingCounts *pending = detail::newest;
    if (unlikely(pending == nullptr || pending->table != table || pending->nest_level != nest_level))
        pending = detail::find_or_add(table, nest_level);
    pending->counts[static_cast<int>(kind)]++;
}

} // namespace outbox::stats
