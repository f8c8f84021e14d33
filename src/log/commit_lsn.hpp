// How far the WAL must be on disk before a transaction's events may leave the server (G3).
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/transam.h"
#include "access/xlogdefs.h"
}

namespace outbox::log {

// The WAL position to flush so that the commit of this transaction, whose rows are visible, cannot be lost in a
// crash; InvalidXLogRecPtr if it cannot be any more. It is the one that hint bits use: exact for transactions that
// commit asynchronously, but for a group of 32 neighbours.
XLogRecPtr commit_lsn(FullTransactionId xid);

} // namespace outbox::log
