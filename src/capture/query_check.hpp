// What the SQL of a rule may be: one query that only reads, gives what its key needs, and may be run by the table's
// owner. Found out when the rule is made, where the server would find it out when the first row changes, or never.
//
// Server regime.
#pragma once

#include "capture/plan.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace outbox::capture {

enum class QueryGives : std::uint8_t {
    one_value,
    values,
    members, // the columns of an object, or the whole object as one column of type json or jsonb
};

// Raises invalid_parameter_value, duplicate_column, insufficient_privilege.
void check_rule_query(SPIPlanPtr plan, QueryGives gives);

bool is_whole_object(const ColumnList &columns);

} // namespace outbox::capture
