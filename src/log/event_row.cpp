#include "log/event_row.hpp"

#include "log/unix_time.hpp"
#include "log/utf8.hpp"
#include "log/uuid_text.hpp"

extern "C" {
#include "access/detoast.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/xid8.h"
}

namespace outbox::log {

namespace {

// The places of the columns of OUTBOX_EVENT_ROW_COLUMNS.
enum Attribute : AttrNumber {
    id = 1,
    xid,
    event_id,
    event_type,
    entity_type,
    entity_id,
    ordering_key,
    payload,
    workspace_id,
    project_id,
    initiator_id,
    initiator_type,
    schema_version,
    headers,
    created_at,
};

Datum value_of(TupleTableSlot *slot, Attribute attribute)
{
    return slot->tts_values[attribute - 1];
}

bool is_null(TupleTableSlot *slot, Attribute attribute)
{
    return slot->tts_isnull[attribute - 1];
}

std::string_view text_of(TupleTableSlot *slot, Attribute attribute)
{
    const text *value = DatumGetTextPP(value_of(slot, attribute));
    return to_utf8({VARDATA_ANY(value), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))});
}

std::optional<std::string_view> optional_text_of(TupleTableSlot *slot, Attribute attribute)
{
    if (is_null(slot, attribute))
        return std::nullopt;
    return text_of(slot, attribute);
}

std::string_view uuid_text_of(TupleTableSlot *slot)
{
    auto *text = static_cast<char *>(palloc(uuid_text_size));
    write_uuid_text(text, DatumGetUUIDP(value_of(slot, event_id))->data);
    return {text, uuid_text_size};
}

std::optional<std::string_view> headers_of(TupleTableSlot *slot)
{
    if (is_null(slot, headers))
        return std::nullopt;
    Jsonb *object = DatumGetJsonbP(value_of(slot, headers));
    return to_utf8(JsonbToCString(nullptr, &object->root, VARSIZE(object)));
}

} // namespace

EventId row_id(TupleTableSlot *slot)
{
    slot_getallattrs(slot);
    return {DatumGetInt64(value_of(slot, id))};
}

FullTransactionId row_xid(TupleTableSlot *slot)
{
    slot_getallattrs(slot);
    return DatumGetFullTransactionId(value_of(slot, xid));
}

std::size_t row_payload_size(TupleTableSlot *slot)
{
    slot_getallattrs(slot);
    return toast_raw_datum_size(value_of(slot, payload)) - VARHDRSZ;
}

EventView row_event(TupleTableSlot *slot)
{
    slot_getallattrs(slot);
    EventView event;
    event.id = row_id(slot);
    event.xid = U64FromFullTransactionId(row_xid(slot));
    event.event_id = uuid_text_of(slot);
    event.event_type = text_of(slot, event_type);
    event.entity_type = optional_text_of(slot, entity_type);
    event.entity_id = optional_text_of(slot, entity_id);
    event.ordering_key = optional_text_of(slot, ordering_key);
    event.payload = text_of(slot, payload);
    event.workspace_id = optional_text_of(slot, workspace_id);
    event.project_id = optional_text_of(slot, project_id);
    event.initiator_id = optional_text_of(slot, initiator_id);
    event.initiator_type = text_of(slot, initiator_type);
    event.schema_version = optional_text_of(slot, schema_version);
    event.headers = headers_of(slot);
    event.created_at = to_unix_microseconds(DatumGetTimestampTz(value_of(slot, created_at)));
    return event;
}

} // namespace outbox::log
