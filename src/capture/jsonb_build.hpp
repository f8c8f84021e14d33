// Pieces of a jsonb value that is being put together. Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace outbox::capture {

inline void push_string(JsonbParseState **state, JsonbIteratorToken token, const char *string)
{
    JsonbValue value;
    value.type = jbvString;
    value.val.string.val = const_cast<char *>(string);
    value.val.string.len = static_cast<int>(strlen(string));
    pushJsonbValue(state, token, &value);
}

inline void push_null(JsonbParseState **state)
{
    JsonbValue value;
    value.type = jbvNull;
    pushJsonbValue(state, WJB_VALUE, &value);
}

} // namespace outbox::capture
