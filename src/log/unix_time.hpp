// The server counts from 2000; ids and messages count from 1970, as everybody else does.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "datatype/timestamp.h"
}

namespace outbox::log {

constexpr std::int64_t to_unix_microseconds(TimestampTz time)
{
    return time + std::int64_t{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * USECS_PER_SEC;
}

} // namespace outbox::log
