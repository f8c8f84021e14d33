// Server work that may fail without failing its caller (server regime): it runs in a subtransaction, which an error
// rolls back. What it allocates in the caller's memory context stays.
//
// What says nothing about the work itself is raised all the same: a cancel or shutdown, a lack of resources, a
// serialization failure or deadlock.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::pg {

namespace detail {
ErrorData *attempt(void (*body)(void *), void *context);
}

// Returns the error, in the caller's memory context; null: the work is done.
template <typename F>
ErrorData *attempt(F &&body)
{
    return detail::attempt([](void *context) { (*static_cast<std::remove_reference_t<F> *>(context))(); }, &body);
}

} // namespace outbox::pg
