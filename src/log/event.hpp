// What an event is, to code that knows nothing of the server: its id, and a view of one row of the log.
// Plain C++: unit tests include it without a server.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outbox::log {

// Hybrid logical clock in microseconds since 1970. Below 2^53, so JavaScript reads it exactly.
struct EventId {
    std::int64_t value = 0;
    auto operator<=>(const EventId &) const = default; // NOLINT(modernize-use-nullptr): a false alarm of clang-tidy 14
};

// One row of the log as the window reader shows it. All text is UTF-8, whatever the database's encoding;
// every view is valid only during the call it was passed to. nullopt is SQL null.
struct EventView {
    EventId id;
    std::uint64_t xid = 0;
    std::string_view event_id; // UUID in text form
    std::string_view event_type;
    std::optional<std::string_view> entity_type;
    std::optional<std::string_view> entity_id;
    std::optional<std::string_view> ordering_key; // null: entity_id is the key
    std::string_view payload;                     // JSON text
    std::optional<std::string_view> workspace_id;
    std::optional<std::string_view> project_id;
    std::optional<std::string_view> initiator_id;
    std::string_view initiator_type;
    std::optional<std::string_view> schema_version;
    std::optional<std::string_view> headers; // a JSON object, as text
    std::int64_t created_at = 0;             // microseconds since 1970, UTC
};

} // namespace outbox::log
