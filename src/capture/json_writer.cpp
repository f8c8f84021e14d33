#include <cmath>

#include "capture/json_writer.hpp"

#include "capture/datetime_text.hpp"
#include "capture/mask.hpp"
#include "log/uuid_text.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/uuid.h"
}

namespace outbox::capture {

namespace {

constexpr int number_room = 32; // the longest text of an int8 or a float8, and then some

// Reserves room behind the buffer's end, for writers that know an upper limit of their length.
char *reserve(StringInfo out, int size)
{
    if (unlikely(out->len + size >= out->maxlen))
        enlargeStringInfo(out, size);
    return out->data + out->len;
}

void write_uuid(StringInfo out, const pg_uuid_t *uuid)
{
    log::write_uuid_text(reserve(out, log::uuid_text_size), uuid->data);
    out->len += log::uuid_text_size;
}

// Writes by one of the functions of datetime_text.hpp.
template <typename Value>
void write_datetime(StringInfo out, char *(*write)(char *, Value), Value value)
{
    const char *end = write(reserve(out, datetime_room), value);
    out->len = static_cast<int>(end - out->data);
}

void append_cstring(StringInfo out, const char *string)
{
    append_bytes(out, string, static_cast<int>(strlen(string)));
}

void write_float(StringInfo out, double value, bool single)
{
    if (std::isnan(value))
        return append_cstring(out, "NaN");
    if (std::isinf(value))
        return append_cstring(out, value < 0 ? "-Infinity" : "Infinity");
    char *end = reserve(out, number_room);
    out->len += single ? float_to_shortest_decimal_buf(static_cast<float>(value), end)
                       : double_to_shortest_decimal_buf(value, end);
}

// The text of a value whose format writes it without any escapes.
void write_plain(StringInfo out, Format format, Datum value)
{
    switch (format) {
    case Format::boolean:
        return append_cstring(out, DatumGetBool(value) ? "true" : "false");
    case Format::int2:
        out->len += pg_itoa(DatumGetInt16(value), reserve(out, number_room));
        return;
    case Format::int4:
        out->len += pg_ltoa(DatumGetInt32(value), reserve(out, number_room));
        return;
    case Format::int8:
    case Format::int8_string:
        out->len += pg_lltoa(DatumGetInt64(value), reserve(out, number_room));
        return;
    case Format::float4:
        return write_float(out, DatumGetFloat4(value), true);
    case Format::float8:
        return write_float(out, DatumGetFloat8(value), false);
    case Format::numeric:
    case Format::numeric_string:
        return append_cstring(out, DatumGetCString(DirectFunctionCall1(numeric_out, value)));
    case Format::uuid:
        return write_uuid(out, DatumGetUUIDP(value));
    case Format::date:
        return write_datetime(out, write_date, DatumGetDateADT(value));
    case Format::timestamp:
        return write_datetime(out, write_timestamp, DatumGetTimestamp(value));
    case Format::timestamptz:
        return write_datetime(out, write_timestamptz, DatumGetTimestampTz(value));
    case Format::jsonb: {
        Jsonb *json = DatumGetJsonbP(value);
        JsonbToCString(out, &json->root, VARSIZE(json));
        return;
    }
    default:
        elog(ERROR, "format %d has no plain text", static_cast<int>(format));
    }
}

// NaN and the infinities are no numbers in JSON: to_json writes them as strings.
void quote_unless_number(StringInfo out, int start)
{
    const char *plain = out->data + start;
    const char first = *plain == '-' ? plain[1] : plain[0];
    if (likely(first >= '0' && first <= '9'))
        return;
    append_bytes(out, "\"", 1);
    append_bytes(out, "\"", 1);
    memmove(out->data + start + 1, out->data + start, out->len - start - 2);
    out->data[start] = '"';
}

FmgrInfo *prepare_to_json(Oid type)
{
    auto *function = static_cast<FmgrInfo *>(palloc0(sizeof(FmgrInfo)));
    fmgr_info_cxt(F_TO_JSON, function, CurrentMemoryContext);
    // to_json(anyelement) asks the call's expression for the type of its argument.
    auto *argument = makeNode(Param);
    argument->paramkind = PARAM_EXTERN;
    argument->paramid = 1;
    argument->paramtype = type;
    argument->paramtypmod = -1;
    argument->location = -1;
    fmgr_info_set_expr(reinterpret_cast<Node *>(makeFuncExpr(F_TO_JSON, JSONOID, list_make1(argument), InvalidOid,
                                                             InvalidOid, COERCE_EXPLICIT_CALL)),
                       function);
    return function;
}

text *call_to_json(const ValueFormat &format, Datum value)
{
    return DatumGetTextPP(FunctionCall1(format.to_json, value));
}

void append_text(StringInfo out, const text *string)
{
    append_bytes(out, VARDATA_ANY(string), static_cast<int>(VARSIZE_ANY_EXHDR(string)));
}

// A JSON string as the text it stands for; other JSON as it is.
text *unquote(text *json)
{
    const std::string_view view(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json));
    const std::size_t first = view.find_first_not_of(" \t\n\r");
    if (first == std::string_view::npos || view[first] != '"')
        return json;
    return DatumGetTextPP(DirectFunctionCall2(json_extract_path_text, PointerGetDatum(json),
                                              PointerGetDatum(construct_empty_array(TEXTOID))));
}

} // namespace

ValueFormat format_of_type(Oid type)
{
    const auto plain = [](Format format) { return ValueFormat{.format = format, .to_json = nullptr}; };
    switch (getBaseType(type)) {
    case BOOLOID:
        return plain(Format::boolean);
    case INT2OID:
        return plain(Format::int2);
    case INT4OID:
        return plain(Format::int4);
    case INT8OID:
        return plain(Format::int8);
    case FLOAT4OID:
        return plain(Format::float4);
    case FLOAT8OID:
        return plain(Format::float8);
    case NUMERICOID:
        return plain(Format::numeric);
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
        return plain(Format::text);
    case NAMEOID:
        return plain(Format::name);
    case UUIDOID:
        return plain(Format::uuid);
    case DATEOID:
        return plain(Format::date);
    case TIMESTAMPOID:
        return plain(Format::timestamp);
    case TIMESTAMPTZOID:
        return plain(Format::timestamptz);
    case JSONOID:
        return plain(Format::json);
    case JSONBOID:
        return plain(Format::jsonb);
    default:
        return ValueFormat{.format = Format::other, .to_json = prepare_to_json(type)};
    }
}

ValueFormat number_as_string(ValueFormat format)
{
    if (format.format == Format::int8)
        format.format = Format::int8_string;
    else if (format.format == Format::numeric)
        format.format = Format::numeric_string;
    return format;
}

void write_json(StringInfo out, const ValueFormat &format, Datum value)
{
    switch (format.format) {
    case Format::text: {
        const text *string = DatumGetTextPP(value);
        return write_json_string(out, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
    }
    case Format::name: {
        const char *string = NameStr(*DatumGetName(value));
        return write_json_string(out, string, strlen(string));
    }
    case Format::json:
        return append_text(out, DatumGetTextPP(value));
    case Format::other:
        return append_text(out, call_to_json(format, value));
    case Format::uuid:
    case Format::date:
    case Format::timestamp:
    case Format::timestamptz:
    case Format::int8_string:
    case Format::numeric_string:
        append_bytes(out, "\"", 1);
        write_plain(out, format.format, value);
        return append_bytes(out, "\"", 1);
    case Format::float4:
    case Format::float8:
    case Format::numeric: {
        const int start = out->len;
        write_plain(out, format.format, value);
        return quote_unless_number(out, start);
    }
    case Format::hidden:
        return append_bytes(out, "null", 4);
    case Format::redacted:
        return append_cstring(out, "\"[redacted]\"");
    case Format::sha256:
        return write_sha256(out, *format.hashed, value);
    default:
        return write_plain(out, format.format, value);
    }
}

text *value_to_text(const ValueFormat &format, Datum value)
{
    switch (format.format) {
    case Format::text:
        return DatumGetTextPP(value);
    case Format::name:
        return cstring_to_text(NameStr(*DatumGetName(value)));
    case Format::json:
        return unquote(DatumGetTextPP(value));
    case Format::other:
        return unquote(call_to_json(format, value));
    default:
        break;
    }
    StringInfoData out;
    start_text(&out, 0);
    write_plain(&out, format.format, value);
    text *plain = finish_text(&out);
    return format.format == Format::jsonb ? unquote(plain) : plain;
}

void start_text(StringInfo out, int size_hint)
{
    // A writer reserves the most that its value may need. Without this a buffer of just the right size would grow when
    // the last value comes.
    constexpr int reserved_at_most = datetime_room;
    out->maxlen = VARHDRSZ + size_hint + reserved_at_most + 1;
    out->data = static_cast<char *>(palloc(out->maxlen));
    out->len = VARHDRSZ;
    out->cursor = 0;
}

text *finish_text(StringInfo out)
{
    SET_VARSIZE(out->data, out->len);
    return reinterpret_cast<text *>(out->data);
}

} // namespace outbox::capture
