// SQL on the extension's own tables from a function whose caller has no privilege on them: it runs as the log's owner.
//
// Server regime. If an error is raised in between, the abort of the (sub)transaction puts the user back.
#pragma once

#include "pg/extension.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "utils/syscache.h"
}

namespace outbox::log {

struct CallerIdentity {
    Oid user;
    int security;
};

inline CallerIdentity become_log_owner()
{
    CallerIdentity caller{};
    GetUserIdAndSecContext(&caller.user, &caller.security);
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(pg::table_oid("event")));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "outbox.event does not exist");
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    SetUserIdAndSecContext(owner, caller.security | SECURITY_LOCAL_USERID_CHANGE);
    return caller;
}

inline void become_caller(const CallerIdentity &caller)
{
    SetUserIdAndSecContext(caller.user, caller.security);
}

} // namespace outbox::log
