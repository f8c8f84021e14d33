#include "relay/worker.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/xact.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
}

namespace outbox::relay {

namespace {

// Advisory locks taken by SQL carry 1 or 2 in their fourth field (lockfuncs.c): these are out of its reach.
constexpr std::uint16_t keeper_lock_class = 0x0B01;
constexpr std::uint16_t lane_lock_class = 0x0B02;

bool lock_role(std::uint32_t id, std::uint32_t part, std::uint16_t lock_class)
{
    return pg::call([&] {
        LOCKTAG tag;
        SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, id, part, lock_class);
        return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
    });
}

// The server's lock_timeout and deadlock checks come as a SIGINT of the process to itself. One that somebody else sent
// (pg_cancel_backend) must not break a transaction of ours: there is no statement of a user to cancel.
void on_cancel(int)
{
    const int saved_errno = errno;
    if (get_timeout_indicator(LOCK_TIMEOUT, false)) {
        InterruptPending = 1;
        QueryCancelPending = 1;
    }
    SetLatch(MyLatch);
    errno = saved_errno;
}

std::string resting_activity;

void report_resting()
{
    pgstat_report_activity(STATE_IDLE, resting_activity.c_str());
}

struct PinnedSetting {
    const char *name;
    const char *value;
};

constexpr PinnedSetting pinned_settings[] = {
    {"search_path", "pg_catalog, pg_temp"},
    {"session_replication_role", "origin"},
    {"default_transaction_read_only", "off"},
    {"default_transaction_isolation", "read committed"},
    {"statement_timeout", "0"},
    {"idle_in_transaction_session_timeout", "0"},
    // Someone may hold a lock on our tables for hours: a worker must still answer signals.
    {"lock_timeout", "1000"},
    // In a deadlock with DDL on our tables the worker notices first, and gives way.
    {"deadlock_timeout", "10"},
    // Progress is recorded without waiting for the flush.
    {"synchronous_commit", "off"},
    // The shape of the window queries (src/log/window.cpp) must not depend on statistics.
    {"plan_cache_mode", "force_generic_plan"},
    {"enable_seqscan", "off"},
    {"max_parallel_workers_per_gather", "0"},
    {"jit", "off"},
    // The first chunk of a huge window sorts a batch of rows: in memory.
    {"work_mem", "16MB"},
    {"row_security", "off"},
    {"DateStyle", "ISO"},
};

} // namespace

BackgroundWorker describe_worker(const char *function, const char *type, const std::string &name)
{
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    strlcpy(worker.bgw_library_name, "outbox_relay", sizeof(worker.bgw_library_name));
    strlcpy(worker.bgw_function_name, function, sizeof(worker.bgw_function_name));
    strlcpy(worker.bgw_type, type, sizeof(worker.bgw_type));
    strlcpy(worker.bgw_name, name.c_str(), sizeof(worker.bgw_name));
    return worker;
}

void begin_worker()
{
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGINT, on_cancel);
    BackgroundWorkerUnblockSignals();
    // Until here the server has SIGHUP ignored: a reload since the fork, which gave this process its settings, was
    // missed.
    ConfigReloadPending = 1;
}

void connect_to_database(Oid database)
{
    pg::call([&] {
        if (OidIsValid(database))
            BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
        else
            BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
        for (const PinnedSetting &setting : pinned_settings)
            SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
        SetConfigOption("application_name", MyBgworkerEntry->bgw_name, PGC_USERSET, PGC_S_OVERRIDE);
        pgstat_report_appname(MyBgworkerEntry->bgw_name);
        report_resting();
    });
}

bool stop_requested()
{
    return ShutdownRequestPending != 0;
}

bool attend_server()
{
    if (!InterruptPending && !ConfigReloadPending)
        return false;
    return pg::call([] {
        CHECK_FOR_INTERRUPTS();
        if (!ConfigReloadPending)
            return false;
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
        return true;
    });
}

void wait_for_latch(long milliseconds, std::uint32_t wait_event)
{
    pg::call([&] {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, wait_event);
        ResetLatch(MyLatch);
    });
}

void set_resting_activity(const std::string &activity)
{
    resting_activity = activity;
    pg::call([] { report_resting(); });
}

void begin_transaction(const char *activity)
{
    pg::call([&] {
        SetCurrentStatementStartTimestamp();
        StartTransactionCommand();
        pgstat_report_activity(STATE_RUNNING, activity);
    });
}

void commit_transaction()
{
    pg::call([] {
        CommitTransactionCommand();
        pgstat_report_stat(false);
        report_resting();
    });
}

void abort_transaction()
{
    pg::call([] {
        AbortCurrentTransaction();
        report_resting();
    });
}

void warn_of_missing_slot(const char *wanted)
{
    static TimestampTz warned_at = 0;
    const TimestampTz now = GetCurrentTimestamp();
    if (warned_at != 0 && now - warned_at < USECS_PER_MINUTE)
        return;
    warned_at = now;
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("outbox_relay: no background worker slot is free for %s", wanted),
                errdetail("Events are kept in the log until there is one."),
                errhint("Increase max_worker_processes: the launcher takes one, each database with the extension one, "
                        "and each lane one."));
    });
}

bool passes_by_itself(const pg::Error &error)
{
    switch (error.sqlstate()) {
    case ERRCODE_LOCK_NOT_AVAILABLE:
    case ERRCODE_T_R_DEADLOCK_DETECTED:
    case ERRCODE_UNDEFINED_TABLE:
    case ERRCODE_INVALID_SCHEMA_NAME:
        return true;
    default:
        return false;
    }
}

bool lock_keeper_role()
{
    return lock_role(0, 0, keeper_lock_class);
}

bool lock_lane(int relay_id, int lane)
{
    return lock_role(static_cast<std::uint32_t>(relay_id), static_cast<std::uint32_t>(lane), lane_lock_class);
}

} // namespace outbox::relay
