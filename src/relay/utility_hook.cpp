// DROP DATABASE, ALTER DATABASE RENAME and SET TABLESPACE, and CREATE DATABASE TEMPLATE fail if anyone is connected to
// the database, and workers are. So before such a statement the database is held: its workers are ended, and none is
// started until the statement's transaction has ended. If it failed, the keeper comes back.
//
// COMMIT PREPARED wakes the lanes, as other commits do.
//
// DROP EXTENSION needs no hold, as workers keep no lock between their transactions: they are only told at commit.
// DROP OWNED, which can drop it too, is noticed when the keeper looks next.
#include "relay/utility_hook.hpp"

#include "pg/compat.hpp"
#include "relay/commit_actions.hpp"
#include "relay/registry.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

constexpr int patience = 5'000; // milliseconds to wait for the workers' end
constexpr int check_interval = 20;

ProcessUtility_hook_type previous_hook;

// The database that a statement needs for itself; null: none.
const char *database_needed(Node *statement)
{
    switch (nodeTag(statement)) {
    case T_DropdbStmt:
        return castNode(DropdbStmt, statement)->dbname;
    case T_RenameStmt: {
        auto *rename = castNode(RenameStmt, statement);
        return rename->renameType == OBJECT_DATABASE ? rename->subname : nullptr;
    }
    case T_AlterDatabaseStmt: {
        auto *alter = castNode(AlterDatabaseStmt, statement);
        ListCell *cell = nullptr;
        foreach (cell, alter->options)
            if (std::strcmp(lfirst_node(DefElem, cell)->defname, "tablespace") == 0)
                return alter->dbname;
        return nullptr;
    }
    case T_CreatedbStmt: {
        ListCell *cell = nullptr;
        foreach (cell, castNode(CreatedbStmt, statement)->options) {
            auto *option = lfirst_node(DefElem, cell);
            if (std::strcmp(option->defname, "template") == 0 && option->arg != nullptr)
                return strVal(option->arg);
        }
        return "template1"; // as the server has it
    }
    default:
        return nullptr;
    }
}

// Its commit callbacks run in no backend that wrote the events: nobody else wakes the lanes.
bool commits_prepared(Node *statement)
{
    return IsA(statement, TransactionStmt) && castNode(TransactionStmt, statement)->kind == TRANS_STMT_COMMIT_PREPARED;
}

bool drops_extension(Node *statement)
{
    return IsA(statement, DropStmt) && castNode(DropStmt, statement)->removeType == OBJECT_EXTENSION;
}

// Asks the database's workers to end. Returns whether there are any left.
bool end_workers(Oid database, bool ask)
{
    const RegistryLock lock;
    bool any = false;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        const pid_t keeper = keeper_entry(slot).database == database ? keeper_entry(slot).pid : 0;
        const pid_t lane = lane_entry(slot).database == database ? lane_entry(slot).pid : 0;
        for (const pid_t pid : {keeper, lane}) {
            any |= pid != 0;
            if (pid != 0 && ask)
                kill(pid, SIGTERM);
        }
    }
    return any;
}

void wait_for_end_of_workers(Oid database)
{
    const TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), patience);
    bool ask = true; // again and again: a worker may have been on its way up when it was asked first
    while (end_workers(database, ask) && GetCurrentTimestamp() < deadline) {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, check_interval, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

// A template may be copied by everyone who may create databases; anything else is for the owner of the database.
bool may_need(Node *statement, Oid database)
{
    if (pg::compat::owns_database(database, GetUserId()))
        return true;
    HeapTuple role = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
    const bool creates = HeapTupleIsValid(role) && reinterpret_cast<Form_pg_authid>(GETSTRUCT(role))->rolcreatedb &&
                         IsA(statement, CreatedbStmt);
    if (HeapTupleIsValid(role))
        ReleaseSysCache(role);
    return creates;
}

// The database to hold for the statement; InvalidOid: none. Who may not run the statement must not end workers by
// it: it fails by itself, as it does inside a transaction block.
Oid database_to_hold(Node *statement)
{
    const char *name = database_needed(statement);
    if (name == nullptr || IsTransactionBlock())
        return InvalidOid;
    const Oid database = get_database_oid(name, true);
    if (!OidIsValid(database) || database == MyDatabaseId || !may_need(statement, database))
        return InvalidOid;
    return database;
}

void on_utility(PlannedStmt *planned, const char *text, bool read_only_tree, ProcessUtilityContext context,
                ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,
                QueryCompletion *completion)
{
    Node *statement = planned->utilityStmt;
    const bool wakes_lanes = commits_prepared(statement);
    if (const Oid database = database_to_hold(statement); OidIsValid(database) && hold_database(database)) {
        release_database_at_end(database);
        wait_for_end_of_workers(database);
    }
    if (IsA(statement, CreatedbStmt))
        request_database_scan_at_commit();
    if (drops_extension(statement))
        announce_relay_change_at_commit();

    (previous_hook != nullptr ? previous_hook : standard_ProcessUtility)(planned, text, read_only_tree, context,
                                                                         parameters, environment, receiver, completion);

    if (wakes_lanes)
        wake_lanes();
}

} // namespace

void install_utility_hook()
{
    previous_hook = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
}

} // namespace outbox::relay
