// The keeper: one per database that has the extension. It keeps the lanes of the database's relays running, and
// ends when the extension is gone (launcher.cpp lists every case in which it starts or ends).
//
// A lane is started once there is something to relay: a database whose log is empty costs one worker, not two.
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/guard.hpp"
#include "pg/query.hpp"
#include "relay/installation.hpp"
#include "relay/registry.hpp"
#include "relay/relay_table.hpp"
#include "relay/worker.hpp"
#include "stats/lane_stats.hpp"

extern "C" {
#include "storage/ipc.h"
#include "utils/timestamp.h"

PGDLLEXPORT void outbox_keeper_main(Datum argument);
}

namespace outbox::relay {

namespace {

constexpr long look_interval = 10'000; // milliseconds; also woken by commits, relay changes and ending lanes
constexpr long retry_interval = 1'000;
constexpr TimestampTz startup_limit = 10 * USECS_PER_SEC;

End how_it_ends = End::failed;

void detach(int, Datum slot)
{
    detach_keeper(DatumGetInt32(slot), how_it_ends);
}

class Keeper {
  public:
    explicit Keeper(int slot) : slot_(slot) {}
    // Returns how it ended.
    End run();

  private:
    bool look();
    void learn();
    static bool keep_lane(const Relay &relay, int lane);
    static bool start_lane(int slot, const std::string &name);
    static void stop_lanes();
    void warn_of_foreign_relay(const Relay &relay);

    int slot_;
    Oid extension_ = InvalidOid;
    bool gone_ = false; // the extension, or the one it began with
    std::vector<Relay> relays_;
    bool anything_to_relay_ = false;
    bool foreign_relay_warned_ = false;
};

// One look at the database. Returns false if it could not be had now.
bool Keeper::look()
{
    try {
        learn();
        return true;
    } catch (const pg::Error &error) {
        if (!passes_by_itself(error))
            throw;
    }
    return false;
}

// Is the extension still there, which relays are there, is there anything to relay?
void Keeper::learn()
{
    {
        const RegistryLock lock;
        keeper_entry(slot_).requested = false;
    }
    in_transaction("looking at the relays", [&] {
        const Oid extension = pg::call([] { return pg::extension_oid(); });
        if (!OidIsValid(extension_))
            extension_ = extension;
        gone_ = !OidIsValid(extension) || extension != extension_;
        if (gone_)
            return;
        own_the_log();
        relays_ = load_relays();
        if (!anything_to_relay_ && pg::query("SELECT 1 FROM outbox.event LIMIT 1").size() == 1) {
            ensure_default_relay();
            relays_ = load_relays();
            anything_to_relay_ = true;
        }
    });
}

bool Keeper::start_lane(int slot, const std::string &name)
{
    BackgroundWorker worker = describe_worker("outbox_lane_main", "outbox_relay lane", "outbox_relay lane " + name);
    worker.bgw_main_arg = Int32GetDatum(slot);
    worker.bgw_notify_pid = MyProcPid;
    return pg::call([&] { return RegisterDynamicBackgroundWorker(&worker, nullptr); });
}

// Sees to it that the lane runs. Returns false if it must be looked at again soon.
bool Keeper::keep_lane(const Relay &relay, int lane)
{
    int slot = -1;
    {
        const RegistryLock lock;
        const bool known = find_lane(MyDatabaseId, relay.relay_id, lane) >= 0;
        slot = claim_lane_slot(MyDatabaseId, relay.relay_id, lane);
        if (slot >= 0 && !known) {
            stats::LaneStats fresh{};
            fresh.database = MyDatabaseId;
            fresh.relay_id = relay.relay_id;
            fresh.lane = static_cast<std::int16_t>(lane);
            stats::write_entry(slot, fresh);
        }
        if (slot >= 0) {
            LaneEntry &entry = lane_entry(slot);
            const TimestampTz now = GetCurrentTimestamp();
            if (entry.pid != 0)
                return true;
            if (entry.not_before > now || (entry.started_at != 0 && now - entry.started_at < startup_limit))
                return false;
            entry.started_at = now;
        }
    }
    if (slot >= 0 && start_lane(slot, relay.name + "/" + std::to_string(lane)))
        return true;
    if (slot >= 0) {
        const RegistryLock lock;
        lane_entry(slot).started_at = 0;
        lane_entry(slot).not_before = GetCurrentTimestamp() + startup_limit / 2;
    }
    warn_of_missing_slot("a lane");
    return false;
}

void Keeper::warn_of_foreign_relay(const Relay &relay)
{
    if (foreign_relay_warned_)
        return;
    foreign_relay_warned_ = true;
    pg::call([&] {
        ereport(WARNING,
                errmsg("outbox_relay: relay \"%s\" was made in another database and is paused", relay.name.c_str()),
                errdetail("It came here with a restored dump or a copied database, whose events may have been sent."),
                errhint("Use outbox.resume to let it relay from this database."));
    });
}

void Keeper::stop_lanes()
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        const LaneEntry &entry = lane_entry(slot);
        if (entry.database == MyDatabaseId && entry.pid != 0)
            kill(entry.pid, SIGTERM);
    }
}

End Keeper::run()
{
    const std::uint32_t wait_event = pg::compat::wait_event("OutboxKeeper");
    while (!stop_requested()) {
        attend_server();
        if (!look()) {
            wait_for_latch(retry_interval, wait_event);
            continue;
        }
        if (gone_) {
            stop_lanes();
            return End::obsolete;
        }
        bool settled = true;
        for (const Relay &relay : relays_) {
            if (!relay.at_home)
                warn_of_foreign_relay(relay);
            else if (anything_to_relay_)
                settled &= keep_lane(relay, 0);
        }
        wait_for_latch(settled ? look_interval : retry_interval, wait_event);
    }
    stop_lanes();
    return End::in_order;
}

// Takes the entry, unless its database has a keeper already.
bool attach(int slot, Oid *database)
{
    const RegistryLock lock;
    KeeperEntry &entry = keeper_entry(slot);
    if (entry.state != KeeperState::starting)
        return false;
    entry.state = KeeperState::running;
    entry.pid = MyProcPid;
    entry.attached_at = GetCurrentTimestamp();
    entry.proc_number = pg::compat::my_proc_number();
    *database = entry.database;
    return true;
}

} // namespace

} // namespace outbox::relay

void outbox_keeper_main(Datum argument)
{
    using namespace outbox;
    pg::entry([&] {
        relay::begin_worker();
        Oid database = InvalidOid;
        if (!relay::attach(DatumGetInt32(argument), &database))
            return;
        before_shmem_exit(relay::detach, argument);
        relay::connect_to_database(database);
        if (relay::lock_keeper_role())
            relay::how_it_ends = relay::Keeper(DatumGetInt32(argument)).run();
    });
    proc_exit(0);
}
