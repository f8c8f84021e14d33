#include "relay/installation.hpp"

#include "pg/query.hpp"

extern "C" {
#include "access/xlog.h"
}

namespace outbox::relay {

void own_the_log()
{
    pg::query("UPDATE outbox.installation SET log_id = gen_random_uuid(), database_oid = here.oid"
              "  FROM pg_database AS here WHERE here.datname = current_database() AND database_oid <> here.oid");
}

LogIdentity load_log_identity()
{
    const auto rows = pg::query("SELECT log_id FROM outbox.installation");
    if (rows.empty())
        throw pg::Error("table outbox.installation is empty", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                        "Insert its row again: INSERT INTO outbox.installation (database_oid)"
                        " SELECT oid FROM pg_database WHERE datname = current_database().");
    const std::string id = *rows.front().front();
    const auto timeline = pg::call([] { return GetWALInsertionTimeLine(); });
    return {.id = id, .epoch = id + '/' + std::to_string(timeline)};
}

} // namespace outbox::relay
