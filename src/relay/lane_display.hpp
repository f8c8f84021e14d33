// What a lane shows of itself: its entry for outbox.stats(), its line in pg_stat_activity, and the server's log.
#pragma once

#include "relay/lane_config.hpp"
#include "stats/lane_stats.hpp"
#include "transport/lease.hpp"

#include <string>

namespace outbox::relay {

class LaneDisplay {
  public:
    // Takes over the entry that an earlier worker of the lane left, counts and all.
    LaneDisplay(int slot, const LaneIdentity &identity);
    LaneDisplay(const LaneDisplay &) = delete;
    LaneDisplay &operator=(const LaneDisplay &) = delete;

    stats::LaneStats &counts() { return stats_; }

    // Shown at once if it is another state or detail than before; since when is of the state.
    void enter(stats::LaneState state, const std::string &detail = {});
    // Keeps the error for outbox.stats(), and writes it to the log unless the one written last, a minute ago at most,
    // was of the same topic. No topic: the message is its own.
    void error(const std::string &message, const std::string &hint = {}, const std::string &topic = {});
    void broker(const std::string &redacted_url);

    // Of the connection that the lane has from now on: whether it holds the lease.
    void lease(transport::Lease lease);
    // How long ago a connection of this lane was last seen to hold the lease; nullopt: never since the server started.
    std::optional<std::chrono::microseconds> lease_age() const;
    // The lane does not stand still: something moved, or it has to wait. To be said once a second.
    void moved();
    // Brings the entry up to date.
    void show();

  private:
    int slot_;
    std::string name_; // relay/lane
    transport::Lease lease_ = transport::Lease::none;
    stats::LaneStats stats_{};
    std::string logged_topic_;
    std::int64_t logged_at_ = 0;
    std::int64_t memory_read_at_ = 0;
};

} // namespace outbox::relay
