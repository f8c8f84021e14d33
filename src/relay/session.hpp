// One connection's life: publishes the log from a position on, settles what the broker confirms, and records
// progress. Whatever ends it, position() says where the next one goes on; nothing of the claims is kept.
#pragma once

#include "log/window.hpp"
#include "relay/batches.hpp"
#include "relay/claims.hpp"
#include "relay/lane_config.hpp"
#include "relay/lane_display.hpp"
#include "relay/lane_place.hpp"
#include "relay/pace.hpp"
#include "relay/parking.hpp"
#include "relay/poll_interval.hpp"
#include "relay/send_watch.hpp"
#include "relay/wait_set.hpp"
#include "transport/amqp_publisher.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace outbox::relay {

class Session {
  public:
    enum class End {
        stopped,      // the worker was asked to stop
        reconfigured, // options or settings changed
        reclaimed,    // outbox.reclaim() gave up the claims
        oversized,    // over worker_memory_limit: the worker is to be replaced
    };

    // The publisher is connected, and outlives the session.
    // relay_changes is what that was before config was read.
    Session(const LaneIdentity &identity, int slot, const LaneConfig &config, std::uint32_t relay_changes,
            transport::AmqpPublisher &publisher, LanePlace &place, LaneDisplay &display);
    // Takes the session's position over into the place.
    ~Session();

    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // Relays until something ends it. Throws transport::Error, pg::Error, Gone, Dismissed, OptionError,
    // std::runtime_error. Unless the connection is lost or the claims are given up, it waits for the last confirms
    // first.
    End run();

  private:
    using Time = transport::Clock::time_point;

    End relay();
    std::optional<End> end_requested();
    void take_outcomes();
    void take_outcome(const transport::Outcome &outcome);
    void take_confirm(Seq seq);
    void settle(Seq seq);
    void check_confirm_timeout();
    void publish_what_is_allowed();
    bool publish_next();
    bool changes_due() const;
    std::chrono::milliseconds record_interval() const;
    bool is_drained() const;
    bool record_progress();
    void record_progress_if_due();
    void finish();
    bool stands_still();
    void show();
    void wait();
    long wait_limit() const;
    void update_place();

    // Reading the log (session_reading.cpp).
    bool has_room() const;
    bool read_more();
    void add_read(std::vector<Claim> batch);
    Claim make_claim(const log::EventView &event) const;

    // Messages of several events (session_batch.cpp).
    struct SentBatch {
        std::vector<Seq> claims; // in the order of the message
        transport::Message message;
    };
    bool publish_next_batch();
    std::vector<Seq> fill_batch(const std::vector<Seq> &candidates);
    void publish_batch(std::vector<Seq> claims);
    void take_batch_outcome(const transport::Outcome &outcome);
    void take_batch_refusal(const std::vector<Seq> &claims);
    void split(const std::vector<Seq> &claims);

    // Events that do not get through (session_parking.cpp).
    bool refresh_parking();
    bool is_held(const Claim &claim) const;
    bool given_up(const Claim &claim) const;
    Parking::Event event_of(Seq seq);
    void take_return(Seq seq, const transport::Outcome &outcome);
    void take_refusal(Seq seq);
    std::string refusal_of(Seq seq) const;
    void hold(const std::string &what, const std::string &error);
    void take_unfit(Seq seq, const std::string &reason);
    void hold_back(Seq seq);
    void set_aside(Seq seq);
    bool load_due();
    void add_loaded(const std::vector<log::EventId> &ids, std::vector<Claim> batch, std::optional<log::EventId> last);
    void expire_unroutable();
    std::string parking_detail() const;
    Time next_load() const;

    const LaneIdentity &identity_;
    int slot_;
    LaneConfig config_;
    LanePlace &place_;
    LaneDisplay &display_;

    transport::AmqpPublisher &publisher_;
    SendWatch watch_{publisher_};
    WaitSet wait_set_;
    log::WindowReader reader_;
    Claims claims_;
    Batches batches_;
    std::unordered_map<transport::Token, SentBatch> sent_; // in flight; their messages must stay where they are
    transport::Token last_batch_ = 0;
    Parking parking_;
    std::vector<log::EventId> skipped_; // by outbox.skip(). Ascending
    Pace pace_;
    PollInterval poll_;

    bool all_read_ = false; // the log had nothing more when it was last read
    Time read_at_{};
    Time recorded_at_{};
    std::int64_t settled_recorded_;
    std::int64_t work_shown_ = 0;  // what has moved so far, as a count
    bool hungry_ = false;          // more could be published than there is
    bool reading_on_ = false;      // the next chunk is due at once
    bool parking_changed_ = false; // by somebody else
    Time load_after_{};
    Time expire_at_{};
    std::string held_reason_; // of the refusals that hold the lane
    std::uint32_t reclaims_seen_;
    std::uint32_t relay_changes_seen_;
};

} // namespace outbox::relay
