// What differs between PostgreSQL 15 and 18. The only place that asks for the server's version.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/genam.h"
#include "access/transam.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "storage/waiteventset.h"
#endif
}

namespace outbox::pg::compat {

// Memory for a setting's value or its check hook's `extra`; null if there is none (16 has its own allocator).
inline void *guc_allocate(std::size_t size)
{
#if PG_VERSION_NUM >= 160000
    return guc_malloc(LOG, size);
#else
    return malloc(size);
#endif
}

// Null is allowed.
inline void guc_release(void *memory)
{
#if PG_VERSION_NUM >= 160000
    guc_free(memory);
#else
    free(memory);
#endif
}

// The number that ProcSendSignal wakes this process by.
inline int my_proc_number()
{
#if PG_VERSION_NUM >= 170000
    return MyProcNumber;
#else
    return MyProc->pgprocno;
#endif
}

// Names this backend's current transaction among its transactions.
inline LocalTransactionId my_local_transaction_id()
{
#if PG_VERSION_NUM >= 170000
    return MyProc->vxid.lxid;
#else
    return MyProc->lxid;
#endif
}

inline WaitEventSet *create_wait_event_set(int events)
{
#if PG_VERSION_NUM >= 170000
    return CreateWaitEventSet(nullptr, events);
#else
    return CreateWaitEventSet(TopMemoryContext, events);
#endif
}

// A wait event of the extension's own, by name where the server has such names (17); else "Extension".
inline uint32 wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    (void)name;
    return PG_WAIT_EXTENSION;
#endif
}

inline bool owns_database(Oid database, Oid role)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(DatabaseRelationId, database, role);
#else
    return pg_database_ownercheck(database, role);
#endif
}

// Visits the node's children: the server's header gives the visitor a type of its own (15: one without parameters).
inline bool walk_expression(Node *node, bool (*visit)(Node *, void *), void *context)
{
    using Untyped = bool (*)();
    return expression_tree_walker(node, reinterpret_cast<Untyped>(reinterpret_cast<void (*)()>(visit)), context);
}

inline bool owns_table(Oid table, Oid role)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, table, role);
#else
    return pg_class_ownercheck(table, role);
#endif
}

// An index scan without keys (18 added instrumentation).
inline IndexScanDesc index_beginscan(Relation table, Relation index, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan(table, index, snapshot, nullptr, 0, 0);
#else
    return ::index_beginscan(table, index, snapshot, 0, 0);
#endif
}

// The oldest transaction whose status can still be looked up. Read it under XactTruncationLock.
inline TransactionId oldest_clog_xid()
{
#if PG_VERSION_NUM >= 170000
    return TransamVariables->oldestClogXid;
#else
    return ShmemVariableCache->oldestClogXid;
#endif
}

// Prepares a set-returning function whose rows are collected in a tuplestore.
inline void init_materialized_srf(FunctionCallInfo fcinfo)
{
#if PG_VERSION_NUM >= 160000
    InitMaterializedSRF(fcinfo, 0);
#else
    SetSingleFuncCall(fcinfo, 0); // 15.2 and later also know the newer name
#endif
}

} // namespace outbox::pg::compat
