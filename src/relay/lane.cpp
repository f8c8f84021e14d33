// A lane: one worker's share of a relay. It owns its part of the log by a lock, and goes from connection to
// connection (session.cpp) with its place in the log:
//
//   no broker set: unconfigured -> connecting -> a session -> lost or refused: backing off -> connecting ...
//   somebody else holds its lease: waiting for lease -> connecting ...
//
// The lease is a queue that one connection at a time can hold. A physical copy of the server, or an old primary beside
// a promoted one, has the same log, relays and positions: it waits, and publishes nothing.
//
// Of several hosts it stays with one as long as that one works; after a failure it tries the others at once, in their
// order, and backs off when all have failed.
//
// A broken broker costs nothing but time: no event is marked, no transaction is open while it waits.
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/guard.hpp"
#include "pg/settings.hpp"
#include "relay/backoff.hpp"
#include "relay/crash_mark.hpp"
#include "relay/lane_display.hpp"
#include "relay/lane_place.hpp"
#include "relay/registry.hpp"
#include "relay/relay_table.hpp"
#include "relay/session.hpp"
#include "relay/worker.hpp"
#include "transport/amqp_url.hpp"

extern "C" {
#include "storage/ipc.h"
#include "utils/timestamp.h"

PGDLLEXPORT void outbox_lane_main(Datum argument);
}

namespace outbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr auto first_backoff = 250ms;
constexpr auto longest_backoff = 30s;
constexpr auto first_lease_wait = 100ms;
constexpr auto longest_lease_wait = 5s;
constexpr long attend_interval = 1'000; // milliseconds

End how_it_ends = End::failed;

void detach(int, Datum slot)
{
    take_crash_mark_back();
    if (how_it_ends == End::obsolete)
        stats::clear_entry(DatumGetInt32(slot));
    else
        stats::show_stopped(DatumGetInt32(slot));
    detach_lane(DatumGetInt32(slot), how_it_ends);
}

class Lane {
  public:
    Lane(int slot, LaneIdentity identity)
        : slot_(slot), identity_(std::move(identity)), display_(slot, identity_), place_(load_place(identity_))
    {
    }

    // Returns when the worker is asked to stop, or has become too large. Throws Gone, Dismissed, pg::Error.
    void run();

  private:
    Session::End connect_and_relay(const LaneConfig &config);
    void say_oversized();
    void record_place();
    void wait_for_lease(const std::string &problem);
    bool another_host_is_left();
    void back_off(const std::string &problem, const std::string &hint = {});
    void rest(Backoff::Duration duration);

    int slot_;
    LaneIdentity identity_;
    LaneDisplay display_;
    LanePlace place_;
    Backoff backoff_{first_backoff, longest_backoff, static_cast<unsigned>(MyProcPid)};
    Backoff lease_backoff_{first_lease_wait, longest_lease_wait, static_cast<unsigned>(MyProcPid)};
    bool connected_before_ = false;
    std::uint32_t relay_changes_seen_ = 0;
    std::size_t endpoint_ = 0;         // of the hosts: the one to connect to
    std::size_t endpoints_failed_ = 0; // in a row
    std::size_t endpoints_ = 1;
};

Session::End Lane::connect_and_relay(const LaneConfig &config)
{
    transport::Target target = config.target;
    endpoints_ = target.url.endpoints.size();
    const transport::Endpoint &endpoint = target.url.endpoints[endpoint_ %= endpoints_];
    display_.moved();
    display_.enter(stats::LaneState::connecting, endpoint.host + ":" + std::to_string(endpoint.port));
    read_credentials(config.credentials, transport::Clock::now() + target.connect_timeout, &target.url);
    display_.broker(target.url.redacted(endpoint));
    if (attend_server() || stop_requested())
        return Session::End::reconfigured; // or not at all
    transport::AmqpPublisher publisher(target, endpoint);
    if (std::exchange(connected_before_, true))
        ++display_.counts().reconnects;
    backoff_.reset();
    lease_backoff_.reset();
    endpoints_failed_ = 0;
    display_.lease(publisher.lease());
    return Session(identity_, slot_, config, relay_changes_seen_, publisher, place_, display_).run();
}

void Lane::run()
{
    bool oversized = false;
    while (!stop_requested() && !oversized) {
        // The texts are kept, and the catch blocks closed, before the server is called again.
        std::string problem;
        std::string hint;
        bool at_once = false;
        bool leased = false;
        std::exception_ptr dismissed;
        try {
            attend_server();
            relay_changes_seen_ = relay_changes(); // one that comes while the options are read counts as unseen
            const LaneConfig config = load_config(identity_);
            if (config.has_broker) {
                oversized = connect_and_relay(config) == Session::End::oversized;
            } else {
                display_.enter(
                    stats::LaneState::unconfigured,
                    "no broker is set: outbox_relay.amqp_url is empty, or was refused (the server's log says why)");
                rest(longest_backoff);
            }
        } catch (const Gone &) {
            throw;
        } catch (const Dismissed &) {
            dismissed = std::current_exception();
        } catch (const transport::UrlError &error) {
            problem = error.what();
            hint = error.hint();
        } catch (const OptionError &error) {
            problem = error.what();
            hint = error.hint();
        } catch (const transport::Error &error) {
            problem = error.what();
            leased = error.kind() == transport::Error::Kind::leased;
            at_once = !leased && another_host_is_left();
        } catch (const std::exception &error) {
            problem = error.what();
        }
        record_place();
        if (oversized)
            say_oversized();
        if (dismissed)
            std::rethrow_exception(dismissed);
        display_.lease(transport::Lease::none);
        if (leased)
            wait_for_lease(problem);
        else if (at_once)
            display_.error(problem);
        else if (!problem.empty())
            back_off(problem, hint);
    }
}

// It ends in order, and its keeper starts it again at once. Its place is on record.
void Lane::say_oversized()
{
    const std::string memory = std::to_string(display_.counts().memory / 1024 / 1024);
    pg::call([&] {
        ereport(LOG,
                errmsg("outbox_relay: relay %s/%d uses %s MB of memory, more than outbox_relay.worker_memory_limit",
                       identity_.relay_name.c_str(), identity_.lane, memory.c_str()),
                errdetail("It ends in order, and is started again."),
                errhint("If this comes again and again, lower outbox_relay.max_claims_size or max_in_flight_size, or "
                        "raise the limit."));
    });
}

// A failure here costs repeats at worst: the place is kept in memory, and the next session records it.
void Lane::record_place()
{
    if (place_.recorded())
        return;
    std::string problem;
    try {
        record(identity_, place_);
    } catch (const pg::Error &error) {
        problem = error.what();
    }
    if (!problem.empty())
        display_.error("progress was not recorded: " + problem);
}

// The broker does not tell who holds it. It lets go of a connection that broke without a word after two heartbeats.
void Lane::wait_for_lease(const std::string &problem)
{
    const auto age = display_.lease_age();
    if (age && *age < 3 * std::chrono::seconds(pg::settings::heartbeat)) {
        display_.enter(stats::LaneState::waiting_for_lease,
                       problem + ": the last one of this lane, which the broker has not given up yet");
    } else {
        const std::string holder = problem + ": another server, or a copy of this one, publishes for this relay";
        display_.error(holder, "Stop the one that should not publish. A copy that shall publish beside the original "
                               "needs a virtual host of its own.");
        display_.enter(stats::LaneState::waiting_for_lease, holder);
    }
    rest(lease_backoff_.next());
}

// After a failure of the connection: turns to the next host. False: all have failed.
bool Lane::another_host_is_left()
{
    ++endpoint_;
    if (++endpoints_failed_ < endpoints_)
        return true;
    endpoints_failed_ = 0;
    return false;
}

void Lane::back_off(const std::string &problem, const std::string &hint)
{
    display_.error(problem, hint);
    display_.enter(stats::LaneState::backing_off, problem);
    rest(backoff_.next());
}

// Waits, unless something happens that is worth another try: new settings, a changed relay, a reclaim, a stop.
void Lane::rest(Backoff::Duration duration)
{
    using Clock = std::chrono::steady_clock;
    static const std::uint32_t wait_event = pg::compat::wait_event("OutboxLane");
    const auto until = Clock::now() + duration;
    const std::uint32_t reclaims = lane_entry(slot_).reclaim_requests;
    lane_entry(slot_).sleeping = false; // a commit changes nothing here
    while (!stop_requested() && Clock::now() < until) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        display_.moved();
        display_.show();
        wait_for_latch(std::min<long>(left.count(), attend_interval), wait_event);
        if (attend_server() || relay_changes() != relay_changes_seen_ || lane_entry(slot_).reclaim_requests != reclaims)
            return;
    }
}

// Takes the entry; InvalidOid: it is somebody else's.
Oid attach(int slot, int *relay_id, int *lane)
{
    const RegistryLock lock;
    LaneEntry &entry = lane_entry(slot);
    if (!OidIsValid(entry.database) || entry.pid != 0 || entry.started_at == 0)
        return InvalidOid;
    entry.pid = MyProcPid;
    entry.attached_at = GetCurrentTimestamp();
    entry.asked_at = 0;
    entry.proc_number = pg::compat::my_proc_number();
    entry.sleeping = false;
    *relay_id = entry.relay_id;
    *lane = entry.lane;
    return entry.database;
}

// Throws Gone if the extension or the relay is no more.
LaneIdentity identify(int relay_id, int lane)
{
    LaneIdentity identity{InvalidOid, relay_id, {}, lane};
    in_transaction("reading the relay", [&] {
        identity.extension = pg::call([] { return pg::extension_oid(); });
        if (!OidIsValid(identity.extension))
            throw Gone("extension outbox_relay was dropped");
        const std::optional<Relay> relay = load_relay(relay_id);
        if (!relay)
            throw Gone("the relay is no more");
        identity.relay_name = relay->name;
    });
    return identity;
}

void relay_until_stopped(int slot, int relay_id, int lane)
{
    try {
        // Not ours: an earlier worker of the lane still has it. The keeper tries again.
        if (!lock_lane(relay_id, lane))
            return;
        Lane(slot, identify(relay_id, lane)).run();
        how_it_ends = End::in_order;
    } catch (const Gone &) {
        how_it_ends = End::obsolete;
    } catch (const Dismissed &) {
        how_it_ends = End::in_order;
    } catch (const pg::Error &error) {
        if (!passes_by_itself(error))
            throw;
        how_it_ends = End::in_order; // the keeper starts it again at once
    }
}

} // namespace

} // namespace outbox::relay

void outbox_lane_main(Datum argument)
{
    using namespace outbox;
    pg::entry([&] {
        relay::begin_worker();
        int relay_id = 0;
        int lane = 0;
        const Oid database = relay::attach(DatumGetInt32(argument), &relay_id, &lane);
        if (!OidIsValid(database))
            return;
        before_shmem_exit(relay::detach, argument);
        pg::call([&] { relay::leave_crash_mark(database, relay_id, lane); });
        relay::connect_to_database(database);
        relay::relay_until_stopped(DatumGetInt32(argument), relay_id, lane);
    });
    proc_exit(0);
}
