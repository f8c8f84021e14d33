// outbox.relay as the workers read it (C++ regime, inside a transaction).
#pragma once

#include "log/position.hpp"
#include "relay/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace outbox::relay {

// Who paused a relay; the texts are for people.
struct Pause {
    std::string by;
    std::string since;
    std::string reason; // empty: none was given
    bool operator==(const Pause &) const = default;
};

struct Relay {
    int relay_id;
    std::string name;
    bool at_home;     // made in this database, not restored or copied into it
    int lanes;        // at work
    int wanted_lanes; // by the options
    std::optional<log::Snapshot> lanes_change;
    std::optional<Pause> pause;
};

// The relay that needs no set-up: its row is written before the first event is published, unless it was dropped.
constexpr const char *default_relay = "default";
void ensure_default_relay();

std::vector<Relay> load_relays();
std::optional<Relay> load_relay(int relay_id);

// The options as they were given: pairs of key and JSON value.
std::vector<Option> load_options(int relay_id);

// The OID of this database, in SQL: a relay's home.
constexpr const char *current_database_oid = "(SELECT oid FROM pg_database WHERE datname = current_database())";

} // namespace outbox::relay
