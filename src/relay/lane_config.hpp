// What a lane works with: its relay's options, and the settings where these say nothing, as they are now.
#pragma once

#include "pg/postgres.hpp"
#include "relay/batches.hpp"
#include "relay/credentials.hpp"
#include "relay/log_identity.hpp"
#include "relay/options.hpp"
#include "relay/parking.hpp"
#include "transport/amqp_publisher.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace outbox::relay {

struct LaneConfig {
    bool has_broker = false;  // outbox_relay.amqp_url is set
    transport::Target target; // user and password are those of the URL
    CredentialsSource credentials;
    RelayOptions options;
    LogIdentity log;
    BatchLimits batch;
    int lanes = 1;
    std::optional<log::Snapshot> limit; // nothing is read that is not visible in it (lanes_change.hpp)
    std::int64_t batch_size = 0;
    std::size_t max_in_flight = 0;
    std::size_t max_in_flight_bytes = 0;
    std::chrono::milliseconds confirm_timeout{0};
    Ordering ordering = Ordering::strict;
    OnUnroutable on_unroutable = OnUnroutable::park;
    ParkingRules parking;
    bool operator==(const LaneConfig &) const = default;
};

// The extension that the lane began with, or its relay, is no more: there is nothing left for it to do.
class Gone : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// There is nothing for the lane to do for now: its relay is paused, or is to have another number of lanes. The keeper
// starts it again when there is.
class Dismissed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct LaneIdentity {
    Oid extension;
    int relay_id;
    std::string relay_name;
    int lane;
};

// Reads both, in a transaction of its own. Throws Gone, Dismissed, OptionError, transport::UrlError, pg::Error.
LaneConfig load_config(const LaneIdentity &identity);

// Inside a transaction: throws Gone unless the extension is the one the lane began with.
void require_extension(const LaneIdentity &identity);

} // namespace outbox::relay
