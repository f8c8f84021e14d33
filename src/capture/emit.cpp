// outbox.emit(): an event of the application's own.
//
// An event_id that the caller chose is kept in outbox.emitted. Its primary key is what makes a second emit of it do
// nothing, also when both run at once: the later one waits for the first one's transaction.
//
// Server regime.
#include "capture/json_writer.hpp"
#include "capture/trace_headers.hpp"
#include "log/append.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
}

namespace outbox::capture {

namespace {

constexpr std::size_t event_type_limit = 255; // bytes: an AMQP routing key
constexpr int header_name_limit = 128;        // bytes

// The arguments' places, in the order of the SQL signature.
enum Argument : int {
    event_type,
    payload,
    entity_type,
    entity_id,
    ordering_key,
    workspace_id,
    project_id,
    initiator_id,
    initiator_type,
    schema_version,
    headers,
    event_id,
};

text *text_argument(FunctionCallInfo fcinfo, Argument argument)
{
    return PG_ARGISNULL(argument) ? nullptr : PG_GETARG_TEXT_PP(argument);
}

void refuse_null(FunctionCallInfo fcinfo, Argument argument, const char *name)
{
    if (PG_ARGISNULL(argument))
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name),
                errhint("Only the arguments after payload can be left out of outbox.emit()."));
}

void check_event_type(const text *type)
{
    const std::size_t size = VARSIZE_ANY_EXHDR(type);
    if (size == 0 || size > event_type_limit)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("event_type must have 1 to 255 bytes"),
                errdetail("It has %zu.", size),
                errhint("It is the default routing key; RabbitMQ takes no longer one."));
}

// The key that orders events is the pair of entity_type and one of these.
void check_entity(const log::NewEvent &event)
{
    if (event.entity_type == nullptr && (event.entity_id != nullptr || event.ordering_key != nullptr))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s needs an entity_type", event.entity_id != nullptr ? "entity_id" : "ordering_key"),
                errdetail("Events are kept in order per entity_type and entity_id (or ordering_key)."),
                errhint("Give entity_type too."));
}

void check_header(const JsonbValue &name, const JsonbValue &value)
{
    const char *hint = "Headers are an object of strings, numbers and booleans, such as {\"tenant\": \"blue\"}.";
    if (name.val.string.len == 0 || name.val.string.len > header_name_limit)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a header's name must have 1 to 128 bytes"),
                errdetail("The name \"%.*s\" has %d.", name.val.string.len, name.val.string.val, name.val.string.len),
                errhint("%s", hint));
    if (value.type != jbvString && value.type != jbvNumeric && value.type != jbvBool)
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("header \"%.*s\" must be a string, a number or a boolean", name.val.string.len, name.val.string.val),
            errhint("%s", hint));
}

constexpr Size max_headers_size = 4096;

void check_headers(Jsonb *headers)
{
    if (!JB_ROOT_IS_OBJECT(headers))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("headers must be a JSON object"),
                errhint("Leave headers out, or give an object such as {\"tenant\": \"blue\"}."));
    if (VARSIZE(headers) > max_headers_size)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("headers of %u bytes are too large", static_cast<unsigned>(VARSIZE(headers))),
                errdetail("They must fit into one frame of the broker; %u bytes are allowed.",
                          static_cast<unsigned>(max_headers_size)),
                errhint("Put large values into the payload."));
    JsonbValue name;
    JsonbValue value;
    JsonbIterator *iterator = JsonbIteratorInit(&headers->root);
    (void)JsonbIteratorNext(&iterator, &name, false);
    while (JsonbIteratorNext(&iterator, &name, true) == WJB_KEY) {
        (void)JsonbIteratorNext(&iterator, &value, true);
        check_header(name, value);
    }
}

text *json_text(Jsonb *json)
{
    StringInfoData out;
    start_text(&out, VARSIZE(json));
    JsonbToCString(&out, &json->root, VARSIZE(json));
    return finish_text(&out);
}

// False if an event of this event_id was emitted before.
bool claim_event_id(const pg_uuid_t *event_id, log::EventId id)
{
    static SPIPlanPtr insert;
    SPI_connect();
    if (insert == nullptr) {
        Oid types[] = {UUIDOID, INT8OID};
        insert =
            SPI_prepare("INSERT INTO outbox.emitted (event_id, id) VALUES ($1, $2) ON CONFLICT DO NOTHING", 2, types);
        if (insert == nullptr || SPI_keepplan(insert) != 0)
            elog(ERROR, "could not prepare the insert into outbox.emitted");
    }
    Datum values[] = {UUIDPGetDatum(event_id), Int64GetDatum(id.value)};
    if (SPI_execute_plan(insert, values, nullptr, false, 0) != SPI_OK_INSERT)
        elog(ERROR, "could not insert into outbox.emitted");
    const bool claimed = SPI_processed == 1;
    SPI_finish();
    return claimed;
}

log::NewEvent event_of_arguments(FunctionCallInfo fcinfo)
{
    refuse_null(fcinfo, event_type, "event_type");
    refuse_null(fcinfo, payload, "payload");

    log::NewEvent event{};
    event.event_id = PG_ARGISNULL(event_id) ? nullptr : PG_GETARG_UUID_P(event_id);
    event.event_type = text_argument(fcinfo, event_type);
    event.entity_type = text_argument(fcinfo, entity_type);
    event.entity_id = text_argument(fcinfo, entity_id);
    event.ordering_key = text_argument(fcinfo, ordering_key);
    event.payload = json_text(PG_GETARG_JSONB_P(payload));
    event.workspace_id = text_argument(fcinfo, workspace_id);
    event.project_id = text_argument(fcinfo, project_id);
    event.initiator_id = text_argument(fcinfo, initiator_id);
    event.initiator_type = text_argument(fcinfo, initiator_type);
    event.schema_version = text_argument(fcinfo, schema_version);
    event.headers = PG_ARGISNULL(headers) ? nullptr : PG_GETARG_JSONB_P(headers);

    check_event_type(event.event_type);
    check_entity(event);
    if (event.headers != nullptr)
        check_headers(event.headers);
    event.headers = with_trace_headers(event.headers);
    return event;
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_emit)

Datum outbox_emit(PG_FUNCTION_ARGS)
{
    using namespace outbox;

    pg::require_preload();
    log::NewEvent event = capture::event_of_arguments(fcinfo);
    if (event.event_id != nullptr) {
        event.id = log::take_id();
        if (!capture::claim_event_id(event.event_id, event.id))
            PG_RETURN_UUID_P(event.event_id);
    }
    auto *written = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
    log::append(event, written);
    PG_RETURN_UUID_P(written);
}
