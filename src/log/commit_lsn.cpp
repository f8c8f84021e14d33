#include "log/commit_lsn.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "storage/lwlock.h"
}

namespace outbox::log {

namespace {

// Whether the commit log still has the transaction. As TransactionIdInRecentPast in the server's xid8funcs.c.
bool in_commit_log(FullTransactionId xid)
{
    const std::uint64_t next = U64FromFullTransactionId(ReadNextFullTransactionId());
    const TransactionId oldest_age = static_cast<TransactionId>(next) - pg::compat::oldest_clog_xid();
    return next - U64FromFullTransactionId(xid) <= oldest_age;
}

} // namespace

XLogRecPtr commit_lsn(FullTransactionId xid)
{
    XLogRecPtr lsn = InvalidXLogRecPtr;
    // Held over the look-up: it keeps the page from being truncated.
    LWLockAcquire(XactTruncationLock, LW_SHARED);
    if (in_commit_log(xid))
        lsn = TransactionIdGetCommitLSN(XidFromFullTransactionId(xid));
    LWLockRelease(XactTruncationLock);
    return lsn;
}

} // namespace outbox::log
