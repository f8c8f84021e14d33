// Changes of relays, as the SQL functions make them (C++ regime, inside the caller's transaction). The workers are told
// at its commit. Throws pg::Error.
#pragma once

#include "pg/query.hpp"

#include <string>

namespace outbox::relay {

// options are JSON texts; the options then set are returned, as JSON. Those of create_relay may say where to start.
std::string create_relay(const std::string &name, const std::string &options);
std::string alter_relay(const std::string &name, const std::string &changes);
void drop_relay(const std::string &name);
void pause_relay(const std::string &name, const pg::Value &reason);
void resume_relay(const std::string &name);

// The relay's id. Raises undefined_object.
int find_relay(const std::string &name);
// The same, with its row locked. The relay `default` can be changed before its first event.
int lock_relay(const std::string &name);

} // namespace outbox::relay
