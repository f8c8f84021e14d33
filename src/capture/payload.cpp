#include "capture/payload.hpp"

extern "C" {
#include "utils/builtins.h"
}

namespace outbox::capture {

namespace {

// Buffers start with the size of the largest payload so far, so that they rarely grow; a giant is soon forgotten.
constexpr int largest_first_size = 32 * 1024;

void write_value(StringInfo out, const Column &column, const Row &row)
{
    if (row.is_null(column))
        append_bytes(out, "null", 4);
    else
        write_json(out, column.format, row.value(column));
}

// `first`: the object has no member yet, so the key's comma is left out.
void write_member(StringInfo out, const Column &column, const Row &row, bool first)
{
    append_bytes(out, column.key + first, column.key_size - first);
    write_value(out, column, row);
}

template <std::size_t Size>
void write_literal(StringInfo out, const char (&literal)[Size])
{
    append_bytes(out, literal, Size - 1);
}

} // namespace

text *write_payload(CapturePlan *plan, const Row &row, const Row &before, const std::int16_t *changed,
                    int changed_count)
{
    StringInfoData out;
    start_text(&out, plan->payload_size);
    write_literal(&out, "{\"data\":{");
    for (int i = 0; i < plan->column_count; i++)
        write_member(&out, plan->columns[i], row, i == 0);
    write_literal(&out, "},\"previous_attributes\":{");
    for (int i = 0; i < changed_count; i++)
        write_member(&out, plan->columns[changed[i]], before, i == 0);
    write_literal(&out, "}}");

    plan->payload_size = std::max(plan->payload_size, std::min(out.len + 1, largest_first_size));
    return finish_text(&out);
}

text *empty_payload()
{
    return cstring_to_text("{\"data\":{},\"previous_attributes\":{}}");
}

text *key_text(const ColumnList &key, const Row &row)
{
    if (key.count <= 1)
        return first_text(key, row);

    StringInfoData out;
    start_text(&out, 0);
    for (int i = 0; i < key.count; i++) {
        append_bytes(&out, i == 0 ? "[" : ",", 1);
        write_value(&out, key.columns[i], row);
    }
    append_bytes(&out, "]", 1);
    return finish_text(&out);
}

text *first_text(const ColumnList &columns, const Row &row)
{
    for (int i = 0; i < columns.count; i++)
        if (!row.is_null(columns.columns[i]))
            return value_to_text(columns.columns[i].format, row.value(columns.columns[i]));
    return nullptr;
}

} // namespace outbox::capture
