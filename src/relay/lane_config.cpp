#include "relay/lane_config.hpp"

#include "pg/extension.hpp"
#include "pg/guard.hpp"
#include "pg/settings.hpp"
#include "relay/installation.hpp"
#include "relay/relay_table.hpp"
#include "relay/worker.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace outbox::relay {

namespace settings = pg::settings;

namespace {

transport::Target make_target(const LaneIdentity &identity, const RelayOptions &options)
{
    transport::Target target;
    target.url = transport::parse_amqp_url(settings::amqp_url());
    target.tls = {.verify = static_cast<transport::Tls::Verify>(settings::tls_verify),
                  .ca_file = settings::tls_ca_file,
                  .cert_file = settings::tls_cert_file,
                  .key_file = settings::tls_key_file};
    target.exchange = options.exchange;
    target.exchange_type = options.exchange_type;
    target.declare = options.declare;
    target.connection_name = "outbox_relay " + identity.relay_name + "/" + std::to_string(identity.lane);
    target.heartbeat = std::chrono::seconds(settings::heartbeat);
    target.connect_timeout = std::chrono::milliseconds(settings::connect_timeout);
    target.max_message_size = settings::kilobytes(settings::max_message_size);
    return target;
}

ParkingRules parking_rules(const RelayOptions &options)
{
    return {.max_parked = static_cast<std::size_t>(options.max_parked.value_or(settings::max_parked)),
            .max_attempts = options.max_attempts.value_or(settings::max_attempts),
            .unroutable_ttl = std::chrono::seconds(options.unroutable_ttl.value_or(settings::unroutable_ttl)),
            .dead_blocks = options.on_dead.value_or(static_cast<OnDead>(settings::on_dead)) == OnDead::block};
}

// The same in a physical copy of the server, and in no other database. Inside a transaction: names travel in UTF-8.
std::string lease_name(const LaneIdentity &identity, const LogIdentity &log)
{
    const std::string &relay = identity.relay_name;
    const char *utf8 =
        pg::call([&] { return pg_server_to_any(relay.c_str(), static_cast<int>(relay.size()), PG_UTF8); });
    return "outbox_relay.lease." + log.id + "." + utf8 + "." + std::to_string(identity.lane);
}

} // namespace

void require_extension(const LaneIdentity &identity)
{
    if (pg::call([] { return pg::extension_oid(); }) != identity.extension)
        throw Gone("extension outbox_relay was dropped");
}

LaneConfig load_config(const LaneIdentity &identity)
{
    LaneConfig config;
    std::string lease;
    in_transaction("reading the relay's options", [&] {
        require_extension(identity);
        const std::optional<Relay> relay = load_relay(identity.relay_id);
        if (!relay || !relay->at_home || identity.lane >= relay->lanes)
            throw Gone("relay \"" + identity.relay_name + "\" is no more");
        if (relay->pause)
            throw Dismissed("relay \"" + identity.relay_name + "\" is paused");
        if (relay->wanted_lanes != relay->lanes && !relay->lanes_change)
            throw Dismissed("relay \"" + identity.relay_name + "\" is to have another number of lanes");
        config.lanes = relay->lanes;
        config.limit = relay->lanes_change;
        config.options = parse_options(load_options(identity.relay_id));
        config.log = load_log_identity();
        lease = lease_name(identity, config.log);
    });
    const RelayOptions &options = config.options;
    config.batch = {.events = static_cast<std::size_t>(options.batch_events),
                    .bytes = static_cast<std::size_t>(options.batch_body_size),
                    .linger = std::chrono::milliseconds(options.linger)};
    config.batch_size = options.batch_size.value_or(settings::batch_size);
    config.max_in_flight = static_cast<std::size_t>(options.max_in_flight.value_or(settings::max_in_flight));
    config.max_in_flight_bytes = settings::kilobytes(settings::max_in_flight_size);
    config.confirm_timeout = std::chrono::milliseconds(options.confirm_timeout.value_or(settings::confirm_timeout));
    config.ordering = options.ordering.value_or(static_cast<Ordering>(settings::ordering));
    config.on_unroutable = options.on_unroutable.value_or(static_cast<OnUnroutable>(settings::on_unroutable));
    config.parking = parking_rules(options);
    config.has_broker = *settings::amqp_url() != '\0';
    if (config.has_broker)
        config.target = make_target(identity, options);
    if (options.lease)
        config.target.lease = std::move(lease);
    config.credentials = {.file = settings::credentials_file, .command = settings::credentials_command};
    return config;
}

} // namespace outbox::relay
