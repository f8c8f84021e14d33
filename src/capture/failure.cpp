#include "capture/failure.hpp"

#include "capture/row_image.hpp"
#include "log/append.hpp"
#include "log/insert.hpp"
#include "pg/attempt.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"
}

namespace outbox::capture {

namespace {

void want(const Value &names, TupleDesc columns, bool *wanted)
{
    for (int i = 0; i < names.count; i++)
        if (const int place = find_column(columns, names.items[i]); place >= 0)
            wanted[place] = true;
}

// What the event would be made of. What the rule leaves out may be meant to be kept out of the log; but SQL of the rule
// may look at any column.
bool *wanted_columns(Relation table, const Rule &rule)
{
    TupleDesc columns = RelationGetDescr(table);
    auto *wanted = static_cast<bool *>(palloc0(columns->natts));
    for (int i = 0; i < columns->natts; i++) {
        const char *name = NameStr(TupleDescAttr(columns, i)->attname);
        wanted[i] = rule.has_sql() || rule.captures(name);
    }
    want(identifying_columns(table, rule), columns, wanted);
    for (const Value *names : {&rule.entity_id, &rule.ordering_key, &rule.soft_delete, &rule.workspace_id,
                               &rule.project_id, &rule.initiator_id})
        want(*names, columns, wanted);
    return wanted;
}

// A row too large for a JSON value leaves no image.
Jsonb *try_image(Relation table, TupleTableSlot *row, const bool *wanted)
{
    Jsonb *image = nullptr;
    (void)pg::attempt([&] { image = image_of_row(table, row, wanted); });
    return image;
}

const char *name_of(Operation operation)
{
    switch (operation) {
    case Operation::insert:
        return "insert";
    case Operation::update:
        return "update";
    case Operation::remove:
        return "delete";
    case Operation::truncate:
        return "truncate";
    }
    pg_unreachable();
}

text *optional_text(const char *string)
{
    return string != nullptr ? cstring_to_text(string) : nullptr;
}

} // namespace

Value identifying_columns(Relation table, const Rule &rule)
{
    const Value key = key_columns(table);
    return key.count > 0 ? key : rule.entity_id;
}

void record_failure(Relation table, const Rule &rule, Operation operation, TupleTableSlot *row, const ErrorData &error)
{
    TupleDesc columns = RelationGetDescr(table);
    auto *key = static_cast<bool *>(palloc0(columns->natts));
    want(identifying_columns(table, rule), columns, key);

    const log::EventId id = log::take_id();
    const log::NamedValue values[] = {
        {.column = "id", .value = Int64GetDatum(id.value)},
        {.column = "failed_at", .value = TimestampTzGetDatum(GetCurrentTimestamp())},
        {.column = "xid", .value = FullTransactionIdGetDatum(GetTopFullTransactionId())},
        {.column = "target", .value = ObjectIdGetDatum(RelationGetRelid(table))},
        log::NamedValue::of("operation", cstring_to_text(name_of(operation))),
        log::NamedValue::of("row_key", try_image(table, row, key)),
        log::NamedValue::of("row_data", try_image(table, row, wanted_columns(table, rule))),
        log::NamedValue::of("sqlstate", cstring_to_text(unpack_sql_state(error.sqlerrcode))),
        log::NamedValue::of("message", cstring_to_text(error.message != nullptr ? error.message : "")),
        log::NamedValue::of("detail", optional_text(error.detail)),
        log::NamedValue::of("hint", optional_text(error.hint)),
        log::NamedValue::of("context", optional_text(error.context)),
    };
    log::insert_row("capture_failure", values, std::size(values));
}

} // namespace outbox::capture
