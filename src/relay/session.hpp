// One connection's life: publishes the log from a position on, settles what the broker confirms, and records
// progress. Whatever ends it, position() says where the next one goes on; nothing of the claims is kept.
#pragma once

#include "log/window.hpp"
#include "relay/claims.hpp"
#include "relay/lane_config.hpp"
#include "relay/lane_display.hpp"
#include "relay/lane_place.hpp"
#include "relay/pace.hpp"
#include "relay/poll_interval.hpp"
#include "relay/send_watch.hpp"
#include "relay/wait_set.hpp"
#include "transport/amqp_publisher.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace outbox::relay {

class Session {
  public:
    enum class End {
        stopped,      // the worker was asked to stop
        reconfigured, // options or settings changed
        reclaimed,    // outbox.reclaim() gave up the claims
    };

    // Connects. Throws transport::Error.
    Session(const LaneIdentity &identity, int slot, const LaneConfig &config, LanePlace &place, LaneDisplay &display);
    // Takes the session's position over into the place.
    ~Session();

    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // Relays until something ends it. Throws transport::Error, pg::Error, Gone, OptionError. Unless the connection
    // is lost or the claims are given up, it waits for the last confirms first.
    End run();

  private:
    using Time = transport::Clock::time_point;

    End relay();
    std::optional<End> end_requested();
    void take_outcomes();
    void take_outcome(const transport::Outcome &outcome);
    void hold(const Claim &claim, const std::string &reason, const std::string &hint);
    void check_confirm_timeout();
    void publish_what_is_allowed();
    bool publish_next();
    bool read_more();
    Claim make_claim(const log::EventView &event) const;
    void record_progress_if_due();
    void finish();
    void show();
    void wait();
    long wait_limit() const;
    void update_place();

    const LaneIdentity &identity_;
    int slot_;
    LaneConfig config_;
    LanePlace &place_;
    LaneDisplay &display_;

    transport::AmqpPublisher publisher_;
    SendWatch watch_{publisher_};
    WaitSet wait_set_;
    log::WindowReader reader_;
    Claims claims_;
    Pace pace_;
    PollInterval poll_;

    bool all_read_ = false; // the log had nothing more when it was last read
    Time read_at_{};
    Time recorded_at_{};
    std::string held_reason_; // of the message that holds the lane
    std::uint32_t reclaims_seen_;
    std::uint32_t relay_changes_seen_;
};

} // namespace outbox::relay
