#include "relay/lane_keeping.hpp"

#include "pg/guard.hpp"
#include "pg/settings.hpp"
#include "relay/crash_mark.hpp"
#include "relay/registry.hpp"
#include "relay/worker.hpp"
#include "stats/lane_stats.hpp"

#include <algorithm>
#include <map>
#include <utility>

extern "C" {
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

constexpr TimestampTz startup_limit = 10 * USECS_PER_SEC;

bool start_lane(int slot, const std::string &name)
{
    BackgroundWorker worker = describe_worker("outbox_lane_main", "outbox_relay lane", "outbox_relay lane " + name);
    worker.bgw_main_arg = Int32GetDatum(slot);
    worker.bgw_notify_pid = MyProcPid;
    return pg::call([&] { return RegisterDynamicBackgroundWorker(&worker, nullptr); });
}

// The lane's place, taken if it has none; -1: all are in use. Under the registry's lock.
int take_place(int relay_id, int lane)
{
    const bool known = find_lane(MyDatabaseId, relay_id, lane) >= 0;
    const int slot = claim_lane_slot(MyDatabaseId, relay_id, lane);
    if (slot >= 0 && !known) {
        stats::LaneStats fresh{};
        fresh.database = MyDatabaseId;
        fresh.relay_id = relay_id;
        fresh.lane = static_cast<std::int16_t>(lane);
        stats::write_entry(slot, fresh);
    }
    return slot;
}

// A lane that runs says once a second that it moves, or has nothing to move (LaneStats::moved_at). One that stands
// still is asked to end, and started again. One that does not even end has its place still, and its lock: nobody
// publishes instead of it. Returns false if it must be looked at again soon.
bool watch_lane(int slot, const Relay &relay)
{
    constexpr TimestampTz grace = 2 * USECS_PER_SEC;
    stats::LaneStats shown;
    stats::read_entry(slot, &shown);
    const TimestampTz now = GetCurrentTimestamp();
    pid_t pid = 0;
    bool first_time = false;
    TimestampTz moved_at = 0;
    {
        const RegistryLock lock;
        LaneEntry &entry = lane_entry(slot);
        moved_at = std::max<TimestampTz>(entry.attached_at, shown.moved_at);
        const bool stands = pg::settings::claim_timeout > 0 && now - moved_at > pg::settings::claim_timeout * 1000L;
        if (entry.pid == 0 || (!stands && entry.asked_at == 0))
            return true;
        first_time = entry.asked_at == 0;
        if (first_time)
            entry.asked_at = now;
        else if (now - entry.asked_at < pg::settings::stop_timeout * 1000L + grace)
            return false;
        pid = entry.pid;
    }
    const std::string since = pg::call([&] { return timestamptz_to_str(moved_at); });
    if (first_time) {
        pg::call([&] {
            ereport(WARNING,
                    errmsg("outbox_relay: relay %s/%d has stood still since %s", relay.name.c_str(), shown.lane,
                           since.c_str()),
                    errdetail("Its worker, process %d, is asked to end, and replaced.", pid));
        });
        kill(pid, SIGTERM);
        return false;
    }
    const bool told = shown.state == stats::LaneState::failing;
    stats::show_failing(slot, ("stands still since " + since + " and does not end: process " + std::to_string(pid) +
                               ". Nobody publishes in its place")
                                  .c_str());
    if (!told)
        pg::call([&] {
            ereport(
                WARNING,
                errmsg("outbox_relay: relay %s/%d stands still and does not end", relay.name.c_str(), shown.lane),
                errdetail("Process %d has not ended on SIGTERM. It may still publish, so nobody does in its place.",
                          pid),
                errhint("See what holds it up: is it stopped by a signal, or does it wait for a disk? If it must be "
                        "ended by SIGKILL, the server restarts."));
        });
    return false;
}

// When a lane that keeps crashing is to be started; now or before: at once.
TimestampTz next_start(const Crashes &crashes)
{
    const int limit = pg::settings::crash_limit;
    return limit == 0 || crashes.in_a_row < limit ? 0 : crashes.last_start + well_after;
}

// Tells outbox.stats() and, once a crash, the log.
void show_crashes(int slot, const Relay &relay, int lane, const Crashes &crashes)
{
    static std::map<std::pair<int, int>, TimestampTz> told;
    const auto count = static_cast<long long>(crashes.in_a_row);
    const std::string next = pg::call([&] { return timestamptz_to_str(next_start(crashes)); });
    stats::show_failing(slot, ("crashed " + std::to_string(count) + " times in a row: is started again at " + next +
                               ", or when the relay is paused and resumed")
                                  .c_str());
    if (std::exchange(told[{relay.relay_id, lane}], crashes.last_start) == crashes.last_start)
        return;
    pg::call([&] {
        ereport(WARNING,
                errmsg("outbox_relay: relay %s/%d has crashed %lld times in a row", relay.name.c_str(), lane, count),
                errdetail("It is started again at %s, so that its crashes do not keep restarting the server.",
                          next.c_str()),
                errhint("The server's log says how it ended. To try at once use outbox.pause and outbox.resume; "
                        "outbox_relay.crash_limit says how many crashes are too many."));
    });
}

bool belongs_to(const std::vector<Relay> &relays, const LaneEntry &entry)
{
    return std::any_of(relays.begin(), relays.end(), [&](const Relay &relay) {
        return relay.relay_id == entry.relay_id && entry.lane < relay.lanes;
    });
}

} // namespace

bool keep_lane(const Relay &relay, int lane)
{
    int slot = -1;
    bool runs = false;
    {
        const RegistryLock lock;
        slot = take_place(relay.relay_id, lane);
        if (slot >= 0) {
            LaneEntry &entry = lane_entry(slot);
            const TimestampTz now = GetCurrentTimestamp();
            runs = entry.pid != 0;
            if (!runs && (entry.not_before > now || (entry.started_at != 0 && now - entry.started_at < startup_limit)))
                return false;
        }
    }
    if (runs)
        return watch_lane(slot, relay);
    if (slot >= 0) {
        const Crashes crashes = read_crashes(MyDatabaseId, relay.relay_id, lane);
        if (next_start(crashes) > GetCurrentTimestamp()) {
            show_crashes(slot, relay, lane, crashes);
            return true;
        }
        const RegistryLock lock;
        lane_entry(slot).started_at = GetCurrentTimestamp();
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

void forget_crashes_of(const Relay &relay)
{
    const RegistryLock lock;
    for (int lane = 0; lane < relay.lanes; ++lane)
        if (const int slot = find_lane(MyDatabaseId, relay.relay_id, lane); slot < 0 || lane_entry(slot).pid == 0)
            forget_crashes(MyDatabaseId, relay.relay_id, lane);
}

void release_lanes_without_relay(const std::vector<Relay> &relays)
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        const LaneEntry &entry = lane_entry(slot);
        if (entry.database != MyDatabaseId || entry.pid != 0 || belongs_to(relays, entry))
            continue;
        forget_crashes(MyDatabaseId, entry.relay_id, entry.lane);
        stats::clear_entry(slot);
        release_lane_slot(slot);
    }
}

bool has_place(int relay_id)
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot)
        if (lane_entry(slot).database == MyDatabaseId && lane_entry(slot).relay_id == relay_id)
            return true;
    return false;
}

bool has_running_lane(int relay_id)
{
    const RegistryLock lock;
    bool running = false;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        LaneEntry &entry = lane_entry(slot);
        if (entry.database != MyDatabaseId || entry.relay_id != relay_id)
            continue;
        running |= entry.pid != 0;
        entry.started_at = 0; // one that the postmaster has yet to start finds itself not expected
    }
    return running;
}

void stop_lanes()
{
    const RegistryLock lock;
    for (int slot = 0; slot < registry_capacity(); ++slot) {
        const LaneEntry &entry = lane_entry(slot);
        if (entry.database == MyDatabaseId && entry.pid != 0)
            kill(entry.pid, SIGTERM);
    }
}

} // namespace outbox::relay
