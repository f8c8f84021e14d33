#include "capture/payload.hpp"

#include "capture/queries.hpp"

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

template <std::size_t Size>
void write_literal(StringInfo out, const char (&literal)[Size])
{
    append_bytes(out, literal, Size - 1);
}

void append_text(StringInfo out, const text *json)
{
    append_bytes(out, VARDATA_ANY(json), static_cast<int>(VARSIZE_ANY_EXHDR(json)));
}

void write_data(StringInfo out, const CapturePlan &plan, const Change &change, const Answers *answers)
{
    if (answers != nullptr && answers->data != nullptr)
        return append_text(out, answers->data);
    write_literal(out, "{");
    for (int i = 0; i < plan.column_count; i++)
        write_member(out, plan.columns[i], change.row, i == 0);
    if (answers != nullptr)
        append_bytes(out, answers->members.data, answers->members.len);
    write_literal(out, "}");
}

void write_previous(StringInfo out, const CapturePlan &plan, const Change &change, const Answers *answers)
{
    if (answers != nullptr && answers->previous != nullptr)
        return append_text(out, answers->previous);
    write_literal(out, "{");
    // The old values of this row say nothing about the one that data_query has put in its place.
    if (answers == nullptr || answers->data == nullptr)
        for (int i = 0; i < change.changed_count; i++)
            write_member(out, plan.columns[change.changed[i]], change.before, i == 0);
    write_literal(out, "}");
}

} // namespace

void write_member(StringInfo out, const Column &column, const Row &row, bool first)
{
    append_bytes(out, column.key + first, column.key_size - first);
    write_value(out, column, row);
}

void write_object(StringInfo out, const ColumnList &columns, const Row &row)
{
    write_literal(out, "{");
    for (int i = 0; i < columns.count; i++)
        write_member(out, columns.columns[i], row, i == 0);
    write_literal(out, "}");
}

text *write_payload(CapturePlan *plan, const Change &change, const Answers *answers)
{
    StringInfoData out;
    start_text(&out, plan->payload_size);
    write_literal(&out, "{\"data\":");
    write_data(&out, *plan, change, answers);
    write_literal(&out, ",\"previous_attributes\":");
    write_previous(&out, *plan, change, answers);
    write_literal(&out, "}");

    plan->payload_size = std::max(plan->payload_size, std::min(out.len + 1, largest_first_size));
    return finish_text(&out);
}

text *identity_payload(const ColumnList &identity, const Row &row)
{
    StringInfoData out;
    start_text(&out, 0);
    write_literal(&out, "{\"data\":");
    write_object(&out, identity, row);
    write_literal(&out, ",\"previous_attributes\":{}}");
    return finish_text(&out);
}

text *truncated_payload(const ColumnList &identity, const Row &row, std::size_t size)
{
    StringInfoData out;
    start_text(&out, 0);
    write_literal(&out, "{\"data\":");
    write_object(&out, identity, row);
    appendStringInfo(&out, ",\"previous_attributes\":{},\"truncated\":true,\"size\":%zu}", size);
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
