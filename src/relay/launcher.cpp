// The launcher: one per server, started and restarted by the postmaster. It starts a keeper in every database
// that has the extension. It cannot look into a database from outside, so it finds out by starting a keeper
// there, which ends at once where there is nothing to keep.
//
// Every case in which a keeper starts or ends:
//   server start, crash of any backend   shared memory is new: all databases are looked at
//   CREATE EXTENSION                     its script asks for a keeper; the request counts at commit, not on rollback
//   DROP EXTENSION                       the keeper and its lanes see it in their next transaction, and end
//   DROP EXTENSION rolled back           nothing was visible to them
//   CREATE DATABASE (also TEMPLATE)      a new database is looked at: the hook of utility_hook.cpp asks for that,
//                                        and a scan every minute is the net under it
//   DROP DATABASE, RENAME,               utility_hook.cpp holds the database: its workers are ended, none is started
//   SET TABLESPACE, use as TEMPLATE      until the command ends; if it failed, or the database is still there, the
//                                        keeper comes back
//   a keeper ends on an error            it is started again after a second, doubling up to a minute
//   out of worker slots                  said in the log, tried again every minute
//   the holder of a database is gone     the hold ends with it
//   standby                              the launcher starts when recovery has finished: promotion starts all
//   pg_upgrade                           the launcher is not registered
#include "relay/launcher.hpp"

#include "pg/compat.hpp"
#include "pg/guard.hpp"
#include "pg/settings.hpp"
#include "relay/registry.hpp"
#include "relay/worker.hpp"

#include <set>

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_database.h"
#include "storage/ipc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

PGDLLEXPORT void outbox_launcher_main(Datum argument);
}

namespace outbox::relay {

namespace {

constexpr long scan_interval = 60'000; // milliseconds
constexpr long retry_interval = 1'000;
constexpr TimestampTz startup_limit = 10 * USECS_PER_SEC; // by then a keeper is up, or has failed
constexpr TimestampTz slot_retry_interval = 5 * USECS_PER_SEC;

void forget_launcher(int, Datum)
{
    set_launcher(-1);
}

struct OidList {
    Oid *oids;
    std::size_t count;
};

OidList read_databases()
{
    PushActiveSnapshot(GetTransactionSnapshot());
    List *names = NIL;
    (void)SplitIdentifierString(pstrdup(pg::settings::databases), ',', &names); // the setting's check hook split it

    OidList found{static_cast<Oid *>(palloc(sizeof(Oid))), 0};
    Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(catalog, 0, nullptr);
    HeapTuple tuple = nullptr;
    while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection))) {
        auto *database = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
        bool chosen = names == NIL;
        ListCell *cell = nullptr;
        foreach (cell, names)
            chosen |= std::strcmp(static_cast<char *>(lfirst(cell)), NameStr(database->datname)) == 0;
        if (!chosen || !database->datallowconn)
            continue;
        found.oids = static_cast<Oid *>(repalloc(found.oids, sizeof(Oid) * (found.count + 1)));
        found.oids[found.count++] = database->oid;
    }
    table_endscan(scan);
    table_close(catalog, AccessShareLock);
    PopActiveSnapshot();
    return found;
}

class Launcher {
  public:
    void run();

  private:
    static std::set<Oid> list_databases();
    struct Next {
        int slot;  // -1: none
        bool more; // one will be due soon
    };

    void scan();
    static void release_holds();
    bool start_keepers();
    Next take_next();
    bool wants_unknown_database();
    static bool start_keeper(int slot);

    std::set<Oid> databases_; // as the last scan found them
    std::set<Oid> looked_at_; // databases whose keeper was wanted once; what became of it is the keeper's business
    TimestampTz next_scan_ = 0;
};

// Databases that accept connections, as far as outbox_relay.databases allows.
std::set<Oid> Launcher::list_databases()
{
    std::set<Oid> databases;
    in_transaction("looking for databases", [&] {
        const auto list = pg::call([] { return read_databases(); });
        databases.insert(list.oids, list.oids + list.count);
    });
    return databases;
}

void Launcher::scan()
{
    databases_ = list_databases();
    next_scan_ = GetCurrentTimestamp() + scan_interval * 1000;
    std::erase_if(looked_at_, [&](Oid database) { return !databases_.contains(database); });

    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        const KeeperEntry &entry = keeper_entry(slot);
        if (entry.state == KeeperState::running && !databases_.contains(entry.database))
            kill(entry.pid, SIGTERM); // no longer chosen
    }
    for (const Oid database : databases_) {
        if (looked_at_.contains(database))
            continue;
        if (claim_keeper_slot(database) < 0)
            break; // as many keepers as the server has workers: the next scan goes on
        looked_at_.insert(database);
    }
}

// A hold ends with its holder, even if the holder ended without a word.
void Launcher::release_holds()
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        KeeperEntry &entry = keeper_entry(slot);
        if (entry.held_by != 0 && kill(entry.held_by, 0) != 0 && errno == ESRCH)
            entry.held_by = 0;
    }
}

bool Launcher::start_keeper(int slot)
{
    BackgroundWorker worker = describe_worker("outbox_keeper_main", "outbox_relay keeper", "outbox_relay keeper");
    worker.bgw_main_arg = Int32GetDatum(slot);
    worker.bgw_notify_pid = MyProcPid;
    return pg::call([&] { return RegisterDynamicBackgroundWorker(&worker, nullptr); });
}

// Takes the next keeper to be started, if its time has come: the entry is then `starting`.
Launcher::Next Launcher::take_next()
{
    const RegistryLock lock;
    const TimestampTz now = GetCurrentTimestamp();
    Next next{-1, false};
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        KeeperEntry &entry = keeper_entry(slot);
        if (entry.state == KeeperState::starting && entry.not_before > now)
            return {-1, true}; // one at a time
        if (entry.state == KeeperState::starting)
            entry.state = KeeperState::wanted; // it never came up
        if (entry.state != KeeperState::wanted || entry.held_by != 0)
            continue;
        if (!databases_.contains(entry.database))
            release_database(entry.database);
        else if (entry.not_before > now)
            next.more = true;
        else if (next.slot < 0)
            next.slot = slot;
    }
    if (next.slot >= 0) {
        keeper_entry(next.slot).state = KeeperState::starting;
        keeper_entry(next.slot).not_before = now + startup_limit;
    }
    return next;
}

// Starts what may be started, one keeper at a time: a server with many databases that do not have the extension
// must not spend all its worker slots on looking at them. Returns true if one is left to be started soon.
bool Launcher::start_keepers()
{
    if (wants_unknown_database())
        scan();
    const Next next = take_next();
    if (next.slot < 0)
        return next.more;
    if (!start_keeper(next.slot)) {
        {
            const RegistryLock lock;
            keeper_entry(next.slot).state = KeeperState::wanted;
            keeper_entry(next.slot).not_before = GetCurrentTimestamp() + slot_retry_interval;
        }
        warn_of_missing_slot("a keeper");
    }
    return true;
}

// A keeper is wanted in a database made since the last scan.
bool Launcher::wants_unknown_database()
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot)
        if (keeper_entry(slot).state == KeeperState::wanted && !databases_.contains(keeper_entry(slot).database))
            return true;
    return false;
}

void Launcher::run()
{
    const std::uint32_t wait_event = pg::compat::wait_event("OutboxLauncher");
    while (!stop_requested()) {
        if (attend_server() || take_database_scan_request() || GetCurrentTimestamp() >= next_scan_)
            scan();
        release_holds();
        const bool soon = start_keepers();
        wait_for_latch(soon ? retry_interval : scan_interval, wait_event);
    }
}

} // namespace

void register_launcher()
{
    BackgroundWorker worker = describe_worker("outbox_launcher_main", "outbox_relay launcher", "outbox_relay launcher");
    worker.bgw_restart_time = 1;
    RegisterBackgroundWorker(&worker);
}

} // namespace outbox::relay

void outbox_launcher_main(Datum)
{
    using namespace outbox;
    pg::entry([] {
        relay::begin_worker();
        relay::connect_to_database(InvalidOid);
        before_shmem_exit(relay::forget_launcher, 0);
        relay::set_launcher(pg::compat::my_proc_number());
        relay::Launcher().run();
    });
    // Stopped by request: exit code 1, so that the postmaster starts it again unless it is going down itself.
    proc_exit(1);
}
