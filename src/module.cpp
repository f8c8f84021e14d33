// The front door: the server loads the library here, and the parts are hooked up.
#include "capture/trace_context.hpp"
#include "log/append.hpp"
#include "log/clock.hpp"
#include "pg/extension.hpp"
#include "pg/settings.hpp"
#include "relay/utility_hook.hpp"
#include "relay/launcher.hpp"
#include "relay/registry.hpp"
#include "stats/capture_stats.hpp"
#include "stats/lane_stats.hpp"
#include "transport/amqp_url.hpp"

extern "C" {
#include "storage/ipc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(); // NOLINT: the server looks for this name
}

namespace {

shmem_request_hook_type previous_shmem_request;
shmem_startup_hook_type previous_shmem_startup;

void request_shmem()
{
    if (previous_shmem_request != nullptr)
        previous_shmem_request();
    outbox::log::request_clock_shmem();
    outbox::relay::request_registry_shmem();
    outbox::stats::request_lane_stats_shmem();
    outbox::stats::request_capture_stats_shmem();
}

void attach_shmem()
{
    if (previous_shmem_startup != nullptr)
        previous_shmem_startup();
    outbox::log::attach_clock_shmem();
    outbox::relay::attach_registry_shmem();
    outbox::stats::attach_lane_stats_shmem();
    outbox::stats::attach_capture_stats_shmem();
}

bool find_url_problem(const char *url, const char **problem, const char **hint)
{
    // The texts are copied out of the exception before its catch block closes.
    static char kept_problem[512];
    static char kept_hint[512];
    try {
        outbox::transport::parse_amqp_url(url);
        return false;
    } catch (const outbox::transport::UrlError &error) {
        strlcpy(kept_problem, error.what(), sizeof(kept_problem));
        strlcpy(kept_hint, error.hint().c_str(), sizeof(kept_hint));
    } catch (const std::exception &error) {
        strlcpy(kept_problem, error.what(), sizeof(kept_problem));
        kept_hint[0] = '\0';
    }
    *problem = kept_problem;
    *hint = kept_hint[0] != '\0' ? kept_hint : nullptr;
    return true;
}

} // namespace

void _PG_init()
{
    // Loaded later, by LOAD or a first call: too late for shared memory. What needs it raises an error by itself.
    if (!process_shared_preload_libraries_in_progress)
        return;

    outbox::pg::mark_preloaded();
    outbox::pg::settings::define(
        find_url_problem, [](const char *text) { return outbox::capture::is_traceparent(text); },
        [](const char *text) { return outbox::capture::is_tracestate(text); });

    previous_shmem_request = shmem_request_hook;
    shmem_request_hook = request_shmem;
    previous_shmem_startup = shmem_startup_hook;
    shmem_startup_hook = attach_shmem;

    outbox::log::on_events_committed = outbox::relay::wake_lanes;
    outbox::relay::install_utility_hook();

    // pg_upgrade starts both servers with the library: nothing may be relayed there.
    if (!IsBinaryUpgrade)
        outbox::relay::register_launcher();
}
