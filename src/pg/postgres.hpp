// The server's headers, in the one order that works: C++ headers first (postgres.h redefines printf), then
// the server's as C. Every file that talks to the server includes this one before anything of the server's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
}

// PostgreSQL 15 leaves PGDLLEXPORT empty; with -fvisibility=hidden that would hide every function from SQL.
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

// Declares and announces a function that SQL (or the postmaster) calls by name.
#define OUTBOX_SQL_FUNCTION(name)                                                                                      \
    extern "C" {                                                                                                       \
    PGDLLEXPORT Datum name(PG_FUNCTION_ARGS);                                                                          \
    PG_FUNCTION_INFO_V1(name);                                                                                         \
    }
