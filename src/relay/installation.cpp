#include "relay/installation.hpp"

#include "pg/query.hpp"

namespace outbox::relay {

void own_the_log()
{
    pg::query("UPDATE outbox.installation SET log_id = gen_random_uuid(), database_oid = here.oid"
              "  FROM pg_database AS here WHERE here.datname = current_database() AND database_oid <> here.oid");
}

} // namespace outbox::relay
