#include "relay/relay_table.hpp"

#include "pg/query.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace outbox::relay {

namespace {
constexpr const char *current_database_oid = "(SELECT oid FROM pg_database WHERE datname = current_database())";
}

void ensure_default_relay()
{
    pg::query(std::string("INSERT INTO outbox.relay (relay_id, name, database_oid) SELECT 1, $1, ") +
                  current_database_oid + " FROM outbox.installation WHERE default_relay ON CONFLICT DO NOTHING",
              {default_relay});
}

std::vector<Relay> load_relays()
{
    std::vector<Relay> relays;
    for (const pg::Row &row : pg::query(std::string("SELECT relay_id, name, database_oid = ") + current_database_oid +
                                        " FROM outbox.relay ORDER BY relay_id"))
        relays.push_back({.relay_id = std::stoi(*row[0]), .name = *row[1], .at_home = *row[2] == "t"});
    return relays;
}

std::vector<Option> load_options(int relay_id)
{
    // Messages are UTF-8, whatever the database's encoding is.
    const auto utf8 = [](const std::string &text) {
        return std::string(
            pg::call([&] { return pg_server_to_any(text.c_str(), static_cast<int>(text.size()), PG_UTF8); }));
    };
    std::vector<Option> options;
    for (const pg::Row &row : pg::query("SELECT key, jsonb_typeof(value), value #>> '{}'"
                                        "  FROM outbox.relay, jsonb_each(options) WHERE relay_id = $1::int",
                                        {std::to_string(relay_id)}))
        options.push_back({.key = *row[0], .json_type = *row[1], .text = utf8(row[2].value_or(""))});
    return options;
}

} // namespace outbox::relay
