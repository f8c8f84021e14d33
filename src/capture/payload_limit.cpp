// A payload is written, then measured. But one of values that fill hundreds of megabytes is not written only to learn
// how large it is, and may be larger than any value can be: up to six bytes of JSON stand for one byte of text. Of such
// values the server tells the size before they are fetched.
#include "capture/payload_limit.hpp"

#include "capture/payload.hpp"
#include "capture/queries.hpp"
#include "pg/attempt.hpp"
#include "pg/settings.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace outbox::capture {

namespace {

// From here on values are looked at before they are written. Less than that fits into a value, however it is written.
constexpr std::size_t giant_size = std::size_t{128} * 1024 * 1024;

// A jsonb, or an array, of very short elements is larger than its text, by less than this.
constexpr std::size_t densest_text = 8;

std::size_t limit_of(const CapturePlan &plan)
{
    return plan.max_payload_size > 0 ? static_cast<std::size_t>(plan.max_payload_size)
                                     : static_cast<std::size_t>(pg::settings::max_event_size) * 1024;
}

// Without fetching what is stored outside of the row. Values of fixed size and short ones do not matter.
std::size_t stored_size(const Column &column, const Row &row)
{
    if (column.length != -1 || row.is_null(column) || is_masked(column.format))
        return 0;
    const auto *value = reinterpret_cast<const varlena *>(DatumGetPointer(row.value(column)));
    return VARATT_IS_SHORT(value) && !VARATT_IS_EXTERNAL(value) ? 0
                                                                : toast_raw_datum_size(row.value(column)) - VARHDRSZ;
}

std::size_t stored_size(const ColumnList &columns, const Row &row)
{
    std::size_t size = 0;
    for (int i = 0; i < columns.count; i++)
        size += stored_size(columns.columns[i], row);
    return size;
}

// Of what the payload will be made of.
std::size_t stored_size(const CapturePlan &plan, const Change &change, const Answers *answers)
{
    if (answers != nullptr && answers->data != nullptr)
        return VARSIZE_ANY(answers->data) + (answers->previous != nullptr ? VARSIZE_ANY(answers->previous) : 0);
    std::size_t size = stored_size({.count = plan.column_count, .columns = plan.columns}, change.row);
    if (answers != nullptr)
        size += answers->members.len;
    if (answers != nullptr && answers->previous != nullptr)
        return size + VARSIZE_ANY(answers->previous);
    for (int i = 0; i < change.changed_count; i++)
        size += stored_size(plan.columns[change.changed[i]], change.before);
    return size;
}

// Null: it does not fit into a value.
text *try_giant(CapturePlan *plan, const Change &change, const Answers *answers)
{
    text *json = nullptr;
    ErrorData *error = pg::attempt([&] { json = write_payload(plan, change, answers); });
    // A buffer that cannot grow further says the one, a single value whose text is too long the other.
    if (error != nullptr && error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED &&
        error->sqlerrcode != ERRCODE_INTERNAL_ERROR)
        ReThrowError(error);
    return json;
}

Payload truncate(const CapturePlan &plan, const Change &change, Relation table, std::size_t size)
{
    const std::size_t limit = limit_of(plan);
    if (!plan.truncate_oversize)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("event of table \"%s\" is too large", RelationGetRelationName(table)),
                errdetail("Its payload has %zu bytes; %zu are allowed.", size, limit),
                errhint("Exclude large columns, raise the rule's \"max_event_size\", or set its \"on_oversize\" to "
                        "\"truncate\"."));
    text *json = stored_size(plan.entity_id, change.row) <= limit ? truncated_payload(plan.entity_id, change.row, size)
                                                                  : nullptr;
    if (json == nullptr || VARSIZE_ANY_EXHDR(json) > limit)
        json = truncated_payload({}, change.row, size);
    return {.json = json, .truncated = true};
}

} // namespace

Payload limited_payload(CapturePlan *plan, const Change &change, const Answers *answers, Relation table)
{
    const std::size_t limit = limit_of(*plan);
    const std::size_t stored = stored_size(*plan, change, answers);
    text *json = nullptr;
    if (likely(stored < giant_size))
        json = write_payload(plan, change, answers);
    else if (stored / densest_text <= limit)
        json = try_giant(plan, change, answers);
    if (unlikely(json == nullptr))
        return truncate(*plan, change, table, stored);
    const std::size_t size = VARSIZE_ANY_EXHDR(json);
    return likely(size <= limit) ? Payload{.json = json} : truncate(*plan, change, table, size);
}

} // namespace outbox::capture
