#include "pg/guard.hpp"

namespace outbox::pg::detail {

bool run_guarded(void (*body)(void *), void *context, Caught *caught)
{
    MemoryContext caller_context = CurrentMemoryContext;
    volatile bool ok = true;

    PG_TRY();
    {
        body(context);
    }
    PG_CATCH();
    {
        // Copied with strdup: that cannot raise another error.
        MemoryContextSwitchTo(caller_context);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        caught->sqlstate = error->sqlerrcode;
        caught->message = error->message != nullptr ? strdup(error->message) : nullptr;
        caught->hint = error->hint != nullptr ? strdup(error->hint) : nullptr;
        FreeErrorData(error);
        ok = false;
    }
    PG_END_TRY();
    return ok;
}

void throw_error(const Caught &caught)
{
    const std::unique_ptr<char, decltype(&std::free)> message(caught.message, &std::free);
    const std::unique_ptr<char, decltype(&std::free)> hint(caught.hint, &std::free);
    throw Error(message ? message.get() : "out of memory", caught.sqlstate, hint ? hint.get() : "");
}

void raise(const char *message, const char *hint, int sqlstate)
{
    ereport(ERROR, errcode(sqlstate), errmsg_internal("%s", message != nullptr ? message : "out of memory"),
            hint != nullptr ? errhint("%s", hint) : 0);
    pg_unreachable();
}

const char *keep_message(const char *what) noexcept
{
    // Without the room this returns null rather than longjmp out of a catch block.
    const std::size_t size = std::strlen(what) + 1;
    auto *copy = static_cast<char *>(MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_NO_OOM));
    if (copy != nullptr)
        std::memcpy(copy, what, size);
    return copy;
}

} // namespace outbox::pg::detail
