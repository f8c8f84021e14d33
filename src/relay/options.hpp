// A relay's options: one grammar, checked by outbox.alter_relay() and read by its lanes. Plain C++.
#pragma once

#include "relay/event_template.hpp"
#include "relay/filter.hpp"
#include "relay/option_error.hpp"
#include "relay/policies.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::relay {

// One member of the options object: its value's JSON type ("string", "number", "boolean", ...) and text.
struct Option {
    std::string key;
    std::string json_type;
    std::string text;
    std::vector<Option> items; // of an array; they have no key
};

enum class Body { envelope, payload, cloudevents, cloudevents_binary, batch };
constexpr std::array<std::string_view, 5> body_names{"envelope", "payload", "cloudevents", "cloudevents-binary",
                                                     "batch"};

struct RelayOptions {
    std::string exchange = "outbox";
    std::string exchange_type = "topic";
    bool declare = true; // declare the exchange if it does not exist
    bool lease = true;   // publish only while holding the lane's lease
    EventTemplate routing_key = EventTemplate::parse("{event_type}", "routing_key");
    EventTemplate correlation_id; // these three: empty, the property is not sent
    EventTemplate expiration;     // milliseconds
    EventTemplate priority;
    Body body = Body::envelope;
    std::string source;                  // of CloudEvents, a URI reference; "": the log's UUID as a URN
    std::string app_id = "outbox_relay"; // "": not sent
    int batch_events = 50;               // these three: of the body "batch"
    int batch_body_size = 1024 * 1024;   // bytes
    int linger = 5;                      // milliseconds
    Filter filter;
    int lanes = 1;
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

// What RabbitMQ takes.
constexpr std::uint64_t highest_priority = 255;
constexpr std::uint64_t longest_expiration = 4'294'967'295; // milliseconds

// The number in the text; nullopt: it is no whole number from 0 to `highest`.
std::optional<std::uint64_t> whole_number_of(std::string_view text, std::uint64_t highest);

// Throws OptionError for an unknown key, a value of the wrong type, or one that cannot work.
RelayOptions parse_options(const std::vector<Option> &options);

} // namespace outbox::relay
