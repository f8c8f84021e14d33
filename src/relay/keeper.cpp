// The keeper: one per database that has the extension. It keeps the lanes of the database's relays running, and
// ends when the extension is gone (launcher.cpp lists every case in which it starts or ends).
//
// A lane is started once there is something to relay: a database whose log is empty costs one worker, not two. One
// whose relay is paused ends by itself, and is started again when the relay is resumed.
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/guard.hpp"
#include "pg/query.hpp"
#include "pg/settings.hpp"
#include "relay/installation.hpp"
#include "relay/lane_keeping.hpp"
#include "relay/lanes_change.hpp"
#include "relay/registry.hpp"
#include "relay/relay_table.hpp"
#include "relay/worker.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

extern "C" {
#include "storage/ipc.h"
#include "utils/timestamp.h"

PGDLLEXPORT void outbox_keeper_main(Datum argument);
}

namespace outbox::relay {

namespace {

constexpr long look_interval = 10'000; // milliseconds; also woken by commits, relay changes and ending lanes
constexpr long retry_interval = 1'000;

// A lane that stands still is noticed in time.
long watch_interval()
{
    const long timeout = pg::settings::claim_timeout;
    return timeout == 0 ? look_interval : std::clamp(timeout, retry_interval, look_interval);
}

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
    template <typename F>
    static bool attempt(F &&body);
    void learn();
    bool anything_to_relay();
    bool tend(const Relay &relay);
    bool change_lanes(const Relay &relay);
    void tidy();
    void note_pause(const Relay &relay);
    void warn_of_foreign_relay(const Relay &relay);

    int slot_;
    Oid extension_ = InvalidOid;
    bool gone_ = false; // the extension, or the one it began with
    std::vector<Relay> relays_;
    bool anything_to_relay_ = false;
    std::set<int> dropped_;        // relays whose lanes may still record progress
    std::map<int, Pause> paused_;  // what the log was told
    std::set<int> foreign_warned_; // relays
};

// Returns false if somebody is in the way: it is tried again soon.
template <typename F>
bool Keeper::attempt(F &&body)
{
    try {
        body();
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
        anything_to_relay_ = anything_to_relay();
        for (const Relay &relay : relays_)
            dropped_.insert(relay.relay_id);
        relays_ = load_relays();
        for (const Relay &relay : relays_)
            dropped_.erase(relay.relay_id);
    });
}

bool Keeper::anything_to_relay()
{
    if (anything_to_relay_)
        return true;
    keeper_entry(slot_).awaits_events = true;
    if (pg::query("SELECT 1 FROM outbox.event LIMIT 1").empty())
        return false;
    keeper_entry(slot_).awaits_events = false;
    ensure_default_relay();
    return true;
}

// A lane of a relay that was dropped may have recorded its progress once more.
void Keeper::tidy()
{
    release_lanes_without_relay(relays_);
    std::vector<int> ended;
    std::copy_if(dropped_.begin(), dropped_.end(), std::back_inserter(ended),
                 [](int relay_id) { return !has_place(relay_id); });
    if (ended.empty())
        return;
    in_transaction("removing progress of dropped relays", [&] {
        for (const int relay_id : ended)
            pg::query("DELETE FROM outbox.progress WHERE relay_id = $1::int", {std::to_string(relay_id)});
    });
    for (const int relay_id : ended)
        dropped_.erase(relay_id);
}

void Keeper::warn_of_foreign_relay(const Relay &relay)
{
    if (!foreign_warned_.insert(relay.relay_id).second)
        return;
    pg::call([&] {
        ereport(WARNING,
                errmsg("outbox_relay: relay \"%s\" was made in another database and is paused", relay.name.c_str()),
                errdetail("It came here with a restored dump or a copied database, whose events may have been sent."),
                errhint("Use outbox.resume to let it relay from this database."));
    });
}

// Tells the log once that a relay is paused, and that it goes on.
void Keeper::note_pause(const Relay &relay)
{
    const auto noted = paused_.find(relay.relay_id);
    if (!relay.pause) {
        if (noted != paused_.end())
            pg::call([&] { ereport(LOG, errmsg("outbox_relay: relay \"%s\" goes on", relay.name.c_str())); });
        paused_.erase(relay.relay_id);
    } else if (noted == paused_.end() || noted->second != *relay.pause) {
        const Pause &pause = paused_[relay.relay_id] = *relay.pause;
        pg::call([&] {
            ereport(LOG, errmsg("outbox_relay: relay \"%s\" is paused", relay.name.c_str()),
                    errdetail("By %s, since %s%s%s.", pause.by.c_str(), pause.since.c_str(),
                              pause.reason.empty() ? "" : ": ", pause.reason.c_str()));
        });
    }
}

// Returns false if the relay must be looked at again soon.
bool Keeper::tend(const Relay &relay)
{
    note_pause(relay);
    if (relay.pause)
        forget_crashes_of(relay);
    if (!relay.at_home)
        warn_of_foreign_relay(relay);
    if (!relay.at_home || relay.pause || !anything_to_relay_)
        return true; // its lanes, if it has any, see that for themselves, and end
    if (relay.lanes_change || relay.wanted_lanes != relay.lanes)
        return change_lanes(relay);
    bool settled = true;
    for (int lane = 0; lane < relay.lanes; ++lane)
        settled &= keep_lane(relay, lane);
    return settled;
}

// The next step of a change to another number of lanes (lanes_change.hpp). Its lanes end by themselves.
bool Keeper::change_lanes(const Relay &relay)
{
    if (relay.lanes_change && relay.wanted_lanes == relay.lanes) {
        in_transaction("keeping the number of lanes", [&] { cancel_lanes_change(relay); });
        return false;
    }
    if (!relay.lanes_change) {
        if (!has_running_lane(relay.relay_id)) {
            in_transaction("changing the number of lanes", [&] { begin_lanes_change(relay); });
            wake_keeper(MyDatabaseId);
        }
        return false;
    }
    std::vector<int> left;
    in_transaction("changing the number of lanes", [&] {
        for (int lane = 0; lane < relay.lanes; ++lane)
            if (!is_drained(relay, lane))
                left.push_back(lane);
    });
    bool settled = true;
    for (const int lane : left)
        settled &= keep_lane(relay, lane);
    if (left.empty() && !has_running_lane(relay.relay_id)) {
        in_transaction("changing the number of lanes", [&] { finish_lanes_change(relay); });
        pg::call([&] {
            ereport(LOG, errmsg("outbox_relay: relay \"%s\" has %d lanes now, %d before", relay.name.c_str(),
                                relay.wanted_lanes, relay.lanes));
        });
        wake_keeper(MyDatabaseId);
        return false;
    }
    return settled && !left.empty();
}

End Keeper::run()
{
    const std::uint32_t wait_event = pg::compat::wait_event("OutboxKeeper");
    while (!stop_requested()) {
        attend_server();
        bool settled = attempt([&] {
            learn();
            if (!gone_)
                tidy();
        });
        if (gone_) {
            stop_lanes();
            return End::obsolete;
        }
        for (const Relay &relay : relays_)
            settled &= attempt([&] { settled &= tend(relay); });
        wait_for_latch(settled ? watch_interval() : retry_interval, wait_event);
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
