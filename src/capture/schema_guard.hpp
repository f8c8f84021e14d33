// Keeps DDL from taking a schema away that the search_path of a rule names: part of outbox.guard_rules(). Without it a
// name in the rule's SQL would be found no more, or in another schema of the path.
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace outbox::capture {

// Of ddl_command_end. Raises dependent_objects_still_exist.
void guard_renamed_schema(Node *command);

// Of sql_drop. Rules of tables that were dropped with the schema are in nobody's way.
void guard_dropped_schemas();

} // namespace outbox::capture
