// A relay's options: one grammar, checked by outbox.alter_relay() and read by its lanes. Plain C++.
#pragma once

#include "relay/option_error.hpp"
#include "relay/policies.hpp"
#include "relay/routing_key.hpp"

#include <optional>
#include <string>
#include <vector>

namespace outbox::relay {

// One member of the options object: its value's JSON type ("string", "number", "boolean", ...) and text.
struct Option {
    std::string key;
    std::string json_type;
    std::string text;
};

enum class Body { envelope, payload, cloudevents, cloudevents_binary };

struct RelayOptions {
    std::string exchange = "outbox";
    std::string exchange_type = "topic";
    bool declare = true; // declare the exchange if it does not exist
    RoutingKey routing_key = RoutingKey::parse("{event_type}");
    Body body = Body::envelope;
    std::string source;                  // of CloudEvents, a URI reference; "": the log's UUID as a URN
    std::string app_id = "outbox_relay"; // "": not sent
    // These: instead of the setting of the same name.
    std::optional<int> max_in_flight;
    std::optional<int> batch_size;
    std::optional<int> confirm_timeout; // milliseconds
    std::optional<int> max_attempts;
    std::optional<int> max_parked;
    std::optional<int> unroutable_ttl; // seconds
    std::optional<Ordering> ordering;
    std::optional<OnUnroutable> on_unroutable;
    std::optional<OnDead> on_dead;
    bool operator==(const RelayOptions &) const = default;
};

// Throws OptionError for an unknown key, a value of the wrong type, or one that cannot work.
RelayOptions parse_options(const std::vector<Option> &options);

} // namespace outbox::relay
