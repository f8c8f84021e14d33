#include "relay/relay_table.hpp"

#include "pg/query.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace outbox::relay {

namespace {

Relay relay_of(const pg::Row &row)
{
    Relay relay{.relay_id = std::stoi(*row[0]),
                .name = *row[1],
                .at_home = *row[2] == "t",
                .lanes = std::stoi(*row[3]),
                .wanted_lanes = std::stoi(*row[4]),
                .lanes_change = std::nullopt,
                .pause = std::nullopt};
    if (row[5])
        relay.lanes_change = log::Snapshot::parse(*row[5]);
    if (row[6])
        relay.pause = Pause{.by = row[7].value_or(""), .since = *row[6], .reason = row[8].value_or("")};
    return relay;
}

std::vector<Relay> load_relays_where(const std::string &condition, const std::vector<pg::Value> &arguments)
{
    std::vector<Relay> relays;
    for (const pg::Row &row :
         pg::query(std::string("SELECT relay_id, name, database_oid = ") + current_database_oid +
                       ", lanes, coalesce(options ->> 'lanes', '1')"
                       ", lanes_change, paused_at, paused_by, pause_reason FROM outbox.relay WHERE " +
                       condition + " ORDER BY relay_id",
                   arguments))
        relays.push_back(relay_of(row));
    return relays;
}

// Messages are UTF-8, whatever the database's encoding is.
std::string utf8(const std::string &text)
{
    return pg::call([&] { return pg_server_to_any(text.c_str(), static_cast<int>(text.size()), PG_UTF8); });
}

} // namespace

void ensure_default_relay()
{
    pg::query(std::string("INSERT INTO outbox.relay (relay_id, name, database_oid) SELECT 1, $1, ") +
                  current_database_oid + " FROM outbox.installation WHERE default_relay ON CONFLICT DO NOTHING",
              {default_relay});
}

std::vector<Relay> load_relays()
{
    return load_relays_where("true", {});
}

std::optional<Relay> load_relay(int relay_id)
{
    std::vector<Relay> found = load_relays_where("relay_id = $1::int", {std::to_string(relay_id)});
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::vector<Option> load_options(int relay_id)
{
    std::vector<Option> options;
    for (const pg::Row &row :
         pg::query("SELECT o.key, jsonb_typeof(o.value), o.value #>> '{}', jsonb_typeof(item), item #>> '{}'"
                   "  FROM outbox.relay"
                   " CROSS JOIN jsonb_each(options) AS o"
                   "  LEFT JOIN jsonb_array_elements(CASE WHEN jsonb_typeof(o.value) = 'array' THEN o.value END)"
                   "            WITH ORDINALITY AS i (item, place) ON true"
                   " WHERE relay_id = $1::int ORDER BY o.key, place",
                   {std::to_string(relay_id)})) {
        if (options.empty() || options.back().key != *row[0])
            options.push_back({.key = *row[0], .json_type = *row[1], .text = utf8(row[2].value_or("")), .items = {}});
        if (row[3])
            options.back().items.push_back(
                {.key = {}, .json_type = *row[3], .text = utf8(row[4].value_or("")), .items = {}});
    }
    return options;
}

} // namespace outbox::relay
