// The rule's key "search_path": the schemas in which its SQL finds names. Server regime.
#pragma once

#include "capture/rule.hpp"

namespace outbox::capture {

// Raises invalid_parameter_value for what is no list of schemas, or names a temporary one.
void check_search_path(const Rule &rule);

// $user is the schema of the name of the rule's owner, as whom the SQL runs. Not given: it names none, for the schema
// of the table is taken, whatever its name.
bool names_schema(const Rule &rule, const char *schema);

} // namespace outbox::capture
