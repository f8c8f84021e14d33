// outbox.relay as the workers read it (C++ regime, inside a transaction).
#pragma once

#include "relay/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace outbox::relay {

struct Relay {
    int relay_id;
    std::string name;
    bool at_home; // made in this database, not restored or copied into it
};

// The relay that needs no set-up: its row is written before the first event is published, unless the installation
// says that there is none.
constexpr const char *default_relay = "default";
void ensure_default_relay();

std::vector<Relay> load_relays();

// The options as they were given: pairs of key and JSON value.
std::vector<Option> load_options(int relay_id);

} // namespace outbox::relay
