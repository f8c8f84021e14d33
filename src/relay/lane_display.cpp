#include "relay/lane_display.hpp"

#include "pg/guard.hpp"
#include "relay/worker.hpp"

#include <cstdio>

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

constexpr std::int64_t repeat_error_after = USECS_PER_MINUTE;
constexpr const char *without_lease = "publishes without a lease: the broker's user may not declare queues";
constexpr std::int64_t memory_interval = USECS_PER_SEC;

// Messages and routing keys are UTF-8. In a database of another encoding SQL could not show them: a character beyond
// ASCII becomes a question mark.
std::string for_display(std::string text)
{
    if (GetDatabaseEncoding() == PG_UTF8)
        return text;
    std::erase_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; });
    for (char &c : text)
        if (static_cast<unsigned char>(c) >= 0x80)
            c = '?';
    return text;
}

template <std::size_t N>
void copy_text(char (&field)[N], const std::string &text)
{
    // Cut between two characters, or SQL could not show it.
    const int length = pg_mbcliplen(text.c_str(), static_cast<int>(text.size()), N - 1);
    std::memcpy(field, text.data(), static_cast<std::size_t>(length));
    field[length] = '\0';
}

// Bytes of memory that are this process's own: resident and not shared.
std::int64_t private_memory()
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
    long long resident = 0;
    long long shared = 0;
    if (!file || std::fscanf(file.get(), "%*d %lld %lld", &resident, &shared) != 2)
        return 0;
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

} // namespace

LaneDisplay::LaneDisplay(int slot, const LaneIdentity &identity)
    : slot_(slot), name_(identity.relay_name + "/" + std::to_string(identity.lane))
{
    stats::read_entry(slot, &stats_);
    stats_.pid = MyProcPid;
    stats_.in_flight = stats_.claimed = stats_.oldest_claim = 0;
    moved();
    enter(stats::LaneState::starting);
}

void LaneDisplay::enter(stats::LaneState state, const std::string &utf8_detail)
{
    const bool at_work = state == stats::LaneState::idle || state == stats::LaneState::relaying;
    const std::string detail = for_display(
        at_work && utf8_detail.empty() && lease_ == transport::Lease::not_permitted ? without_lease : utf8_detail);
    const bool same_state = stats_.state == state && stats_.since != 0;
    if (same_state && detail == stats_.detail)
        return;
    if (!same_state)
        stats_.since = GetCurrentTimestamp();
    stats_.state = state;
    copy_text(stats_.detail, detail);
    show();

    set_resting_activity(std::string(stats::name_of(state)) + (detail.empty() ? "" : ": ") + detail);
}

void LaneDisplay::error(const std::string &utf8_message, const std::string &hint, const std::string &topic)
{
    const std::string message = for_display(utf8_message);
    const TimestampTz now = GetCurrentTimestamp();
    copy_text(stats_.last_error, message);
    stats_.last_error_at = now;
    const std::string &logged = topic.empty() ? message : topic;
    if (logged == logged_topic_ && now - logged_at_ < repeat_error_after)
        return;
    logged_topic_ = logged;
    logged_at_ = now;
    pg::call([&] {
        ereport(WARNING, errmsg("outbox_relay: relay %s: %s", name_.c_str(), message.c_str()),
                hint.empty() ? 0 : errhint("%s", hint.c_str()));
    });
}

void LaneDisplay::broker(const std::string &redacted_url)
{
    copy_text(stats_.broker, for_display(redacted_url));
}

void LaneDisplay::lease(transport::Lease lease)
{
    lease_ = lease;
    if (lease == transport::Lease::not_permitted)
        error(without_lease,
              "Nothing keeps a copy of this server from publishing as well. Let the user configure queues "
              "of the form outbox_relay\\.lease\\..*, or set the relay's option \"lease\" to false.");
}

std::optional<std::chrono::microseconds> LaneDisplay::lease_age() const
{
    if (stats_.lease_seen_at == 0)
        return std::nullopt;
    return std::chrono::microseconds(GetCurrentTimestamp() - stats_.lease_seen_at);
}

void LaneDisplay::moved()
{
    stats_.moved_at = GetCurrentTimestamp();
}

void LaneDisplay::show()
{
    const TimestampTz now = GetCurrentTimestamp();
    if (lease_ == transport::Lease::held)
        stats_.lease_seen_at = now;
    if (now - memory_read_at_ >= memory_interval) {
        memory_read_at_ = now;
        stats_.memory = private_memory();
    }
    stats::write_entry(slot_, stats_);
}

} // namespace outbox::relay
