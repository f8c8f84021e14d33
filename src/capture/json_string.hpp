// JSON strings, escaped as the server's escape_json() does it, eight bytes at a time. Needs nothing of the server but
// its growing buffer, so that a fuzzer can run it alone (test/fuzz).
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace outbox::capture {

// The string, in quotes.
void write_json_string(StringInfo out, const char *string, std::size_t size);

// As appendBinaryStringInfo, inlined: it is called for each key of each row.
inline void append_bytes(StringInfo out, const char *bytes, int size)
{
    if (unlikely(out->len + size >= out->maxlen))
        enlargeStringInfo(out, size);
    memcpy(out->data + out->len, bytes, size);
    out->len += size;
}

} // namespace outbox::capture
