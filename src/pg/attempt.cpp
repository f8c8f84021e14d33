#include "pg/attempt.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/resowner.h"
}

namespace outbox::pg::detail {

namespace {

bool must_be_raised(const ErrorData &error)
{
    if (error.sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        return true;
    switch (ERRCODE_TO_CATEGORY(error.sqlerrcode)) {
    case ERRCODE_TRANSACTION_ROLLBACK:
    case ERRCODE_INSUFFICIENT_RESOURCES:
    case ERRCODE_OPERATOR_INTERVENTION:
    case ERRCODE_SYSTEM_ERROR:
        return true;
    default:
        return false;
    }
}

} // namespace

ErrorData *attempt(void (*body)(void *), void *context)
{
    MemoryContext caller_context = CurrentMemoryContext;
    ResourceOwner caller_owner = CurrentResourceOwner;
    ErrorData *volatile error = nullptr;

    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(caller_context);
    PG_TRY();
    {
        body(context);
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller_context);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(caller_context);
    CurrentResourceOwner = caller_owner;

    if (error != nullptr && must_be_raised(*error))
        ReThrowError(error);
    return error;
}

} // namespace outbox::pg::detail
