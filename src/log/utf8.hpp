// Text of the database's encoding as UTF-8, which is what goes on the wire.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::log {

// The text itself in a UTF-8 database, else a conversion in CurrentMemoryContext. Characters that UTF-8 cannot
// express become U+FFFD: an event must not hold its lane for ever because of one byte.
std::string_view to_utf8(std::string_view text);

// The way back, for what is written into tables. Characters that the database's encoding cannot express become
// question marks.
std::string_view from_utf8(std::string_view text);

} // namespace outbox::log
