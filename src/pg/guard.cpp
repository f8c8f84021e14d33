#include "pg/guard.hpp"

namespace outbox::pg::detail {

bool run_guarded(void (*body)(void *), void *context, char **message, int *sqlstate)
{
    MemoryContext caller_context = CurrentMemoryContext;
    volatile bool ok = true;

    PG_TRY();
    {
        body(context);
    }
    PG_CATCH();
    {
        // Copied by hand with malloc: an error while copying must not raise again.
        MemoryContextSwitchTo(caller_context);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        *sqlstate = error->sqlerrcode;
        *message = error->message != nullptr ? strdup(error->message) : nullptr;
        FreeErrorData(error);
        ok = false;
    }
    PG_END_TRY();
    return ok;
}

void throw_error(char *message, int sqlstate)
{
    std::unique_ptr<char, decltype(&std::free)> owned(message, &std::free);
    throw Error(owned ? owned.get() : "out of memory", sqlstate);
}

void raise(const char *message, int sqlstate)
{
    ereport(ERROR, errcode(sqlstate), errmsg_internal("%s", message != nullptr ? message : "out of memory"));
    pg_unreachable();
}

const char *keep_message(const char *what) noexcept
{
    // In a context without the room this returns null rather than longjmp out of a catch block.
    const std::size_t size = std::strlen(what) + 1;
    auto *copy = static_cast<char *>(MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_NO_OOM));
    if (copy != nullptr)
        std::memcpy(copy, what, size);
    return copy;
}

} // namespace outbox::pg::detail
