// SQL for code that is not in a hurry (C++ regime): one statement, text in, text out. Inside a transaction.
#pragma once

#include "pg/guard.hpp"

#include <optional>
#include <string>
#include <vector>

namespace outbox::pg {

using Value = std::optional<std::string>; // nullopt: SQL null
using Row = std::vector<Value>;

// Runs the statement in a snapshot of its own. Arguments are $1, $2 ... of type text: cast them in the statement.
// Returns the rows it produced (of SELECT or RETURNING), all values in their text form. Throws pg::Error.
std::vector<Row> query(const std::string &statement, const std::vector<Value> &arguments = {});

// An argument of an SQL function that is a text, and not null.
std::string text_argument(FunctionCallInfo fcinfo, int number);

} // namespace outbox::pg
