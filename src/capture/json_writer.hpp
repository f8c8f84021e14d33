// Writes values as to_json() writes them. The common types have a way of their own; for all others the server's
// to_json() itself is called, under canonical settings (which the caller enters, see canonical_settings.hpp).
//
// Server regime.
#pragma once

#include "capture/json_string.hpp"

namespace outbox::capture {

enum class Format : std::uint8_t {
    boolean,
    int2,
    int4,
    int8,
    float4,
    float8,
    numeric,
    text,
    name,
    uuid,
    date,
    timestamp,
    timestamptz,
    json,
    jsonb,
    other,          // the server's to_json()
    int8_string,    // numbers as JSON strings
    numeric_string, //
    hidden,         // null, whatever the value is
    redacted,       // a constant string
    sha256,         // a salted hash of the value's text
};

// How the values of one type are written.
struct ValueFormat {
    Format format;
    FmgrInfo *to_json;         // format other: prepared for the type
    const ValueFormat *hashed; // format sha256: how the text is written
};

// What is written does not grow with the value.
inline bool is_masked(const ValueFormat &format)
{
    return format.format == Format::hidden || format.format == Format::redacted || format.format == Format::sha256;
}

// Allocates in the current memory context.
ValueFormat format_of_type(Oid type);

// int8 and numeric as JSON strings, for readers that round large numbers; any other format as it is.
ValueFormat number_as_string(ValueFormat format);

// The value as JSON.
void write_json(StringInfo out, const ValueFormat &format, Datum value);

// The value as text: what write_json writes, without the quotes and escapes if that is a string.
text *value_to_text(const ValueFormat &format, Datum value);

// Starts a buffer that will become a text: the header's room comes first.
void start_text(StringInfo out, int size_hint);
text *finish_text(StringInfo out);

} // namespace outbox::capture
