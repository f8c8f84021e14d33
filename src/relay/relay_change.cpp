#include "relay/relay_change.hpp"

#include "relay/commit_actions.hpp"
#include "relay/relay_start.hpp"
#include "relay/relay_table.hpp"

namespace outbox::relay {

namespace {

constexpr std::size_t max_name = 63; // bytes: it becomes part of the names of workers and connections

int find_relay_locked(const std::string &name, const char *lock)
{
    const auto rows = pg::query(std::string("SELECT relay_id FROM outbox.relay WHERE name = $1") + lock, {name});
    if (rows.empty())
        throw pg::Error("relay \"" + name + "\" does not exist", ERRCODE_UNDEFINED_OBJECT,
                        "outbox.relay lists the relays.");
    return std::stoi(*rows.front().front());
}

void require_object(const std::string &options)
{
    if (pg::query("SELECT 1 WHERE jsonb_typeof($1::jsonb) = 'object'", {options}).empty())
        throw pg::Error("options must be a JSON object", ERRCODE_INVALID_PARAMETER_VALUE,
                        "For example: '{\"exchange\": \"events\"}'.");
}

RelayOptions require_valid_options(int relay_id)
{
    try {
        return parse_options(load_options(relay_id));
    } catch (const OptionError &error) {
        throw pg::Error(error.what(), ERRCODE_INVALID_PARAMETER_VALUE, error.hint());
    }
}

void require_new_name(const std::string &name)
{
    if (name.empty() || name.size() > max_name)
        throw pg::Error("invalid name of a relay: \"" + name + "\"", ERRCODE_INVALID_NAME,
                        "A name has 1 to " + std::to_string(max_name) + " bytes.");
    if (!pg::query("SELECT 1 FROM outbox.relay WHERE name = $1", {name}).empty())
        throw pg::Error("relay \"" + name + "\" already exists", ERRCODE_DUPLICATE_OBJECT,
                        "outbox.alter_relay changes its options.");
}

} // namespace

int find_relay(const std::string &name)
{
    return find_relay_locked(name, "");
}

int lock_relay(const std::string &name)
{
    if (name == default_relay)
        ensure_default_relay();
    return find_relay_locked(name, " FOR UPDATE");
}

std::string create_relay(const std::string &name, const std::string &options)
{
    require_object(options);
    // It begins with the first event: from now on, or it would wait for somebody who does not come.
    if (name != default_relay)
        ensure_default_relay();
    require_new_name(name);
    const auto rows = pg::query(std::string("INSERT INTO outbox.relay (name, options, database_oid)"
                                            " VALUES ($1, jsonb_strip_nulls($2::jsonb - 'start'), ") +
                                    current_database_oid + ") RETURNING relay_id, options",
                                {name, options});
    const int relay_id = std::stoi(*rows.front()[0]);
    const int lanes = require_valid_options(relay_id).lanes;
    pg::query("UPDATE outbox.relay SET lanes = $2::smallint WHERE relay_id = $1::int AND lanes <> $2::smallint",
              {std::to_string(relay_id), std::to_string(lanes)});
    record_start(relay_id, lanes, options);
    announce_relay_change_at_commit();
    return *rows.front()[1];
}

std::string alter_relay(const std::string &name, const std::string &changes)
{
    require_object(changes);
    if (!pg::query("SELECT 1 WHERE $1::jsonb ? 'start'", {changes}).empty())
        throw pg::Error("option \"start\" cannot be changed", ERRCODE_INVALID_PARAMETER_VALUE,
                        "It says where a new relay begins: give it to outbox.create_relay.");
    const int relay_id = lock_relay(name);
    const auto rows = pg::query("UPDATE outbox.relay SET options = jsonb_strip_nulls(options || $2::jsonb)"
                                " WHERE relay_id = $1::int RETURNING options",
                                {std::to_string(relay_id), changes});
    require_valid_options(relay_id);
    announce_relay_change_at_commit();
    return *rows.front().front();
}

void drop_relay(const std::string &name)
{
    const int relay_id = lock_relay(name);
    const auto parked =
        pg::query("SELECT count(*) FROM outbox.parked WHERE relay_id = $1::int", {std::to_string(relay_id)});
    if (parked.front().front() != "0")
        throw pg::Error("relay \"" + name + "\" has " + *parked.front().front() + " events that are parked or dead",
                        ERRCODE_OBJECT_IN_USE,
                        "outbox.parked lists them: let them out with outbox.redrive, or give them up with "
                        "outbox.discard.");
    pg::query("DELETE FROM outbox.progress WHERE relay_id = $1::int", {std::to_string(relay_id)});
    pg::query("DELETE FROM outbox.relay WHERE relay_id = $1::int", {std::to_string(relay_id)});
    if (name == default_relay)
        pg::query("UPDATE outbox.installation SET default_relay = false WHERE default_relay");
    announce_relay_change_at_commit();
}

void pause_relay(const std::string &name, const pg::Value &reason)
{
    pg::query("UPDATE outbox.relay SET paused_at = clock_timestamp(), paused_by = session_user, pause_reason = $2"
              " WHERE relay_id = $1::int",
              {std::to_string(lock_relay(name)), reason});
    announce_relay_change_at_commit();
}

void resume_relay(const std::string &name)
{
    pg::query(
        std::string("UPDATE outbox.relay SET paused_at = NULL, paused_by = NULL, pause_reason = NULL,"
                    " lanes_change = CASE database_oid WHEN here.oid THEN lanes_change END, database_oid = here.oid"
                    "  FROM pg_database AS here WHERE datname = current_database() AND relay_id = $1::int"),
        {std::to_string(lock_relay(name))});
    announce_relay_change_at_commit();
}

} // namespace outbox::relay
