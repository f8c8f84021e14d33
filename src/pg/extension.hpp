// The extension in the current database, as its catalog has it now.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::pg {

// InvalidOid if the extension is not installed in this database. Inside a transaction.
Oid extension_oid();

// The OID of a table or view of schema outbox; InvalidOid if there is none. Inside a transaction.
Oid table_oid(const char *name);

// The OID of a function of schema outbox that takes no arguments, whoever asks; InvalidOid if there is none.
Oid function_oid(const char *name);

// From _PG_init: this server has the library in shared_preload_libraries. Every process of it inherits that.
void mark_preloaded();
bool preloaded();

// Raises object_not_in_prerequisite_state, with the line to add to postgresql.conf, unless preloaded().
void require_preload();

// Raises null_value_not_allowed for the first null among the function's arguments, by these names: a STRICT function
// would do nothing and say nothing.
void require_arguments(FunctionCallInfo fcinfo, std::initializer_list<const char *> names);

} // namespace outbox::pg
