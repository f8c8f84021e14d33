// Triggers that keep the schema's tables to this installation's own rows.
//
// A row of outbox.event with a transaction id that is not ours would be read again for ever, or never. So a
// BEFORE ROW trigger refuses every write (append fires no triggers), another one every TRUNCATE, and on every table of
// the schema another one, ENABLE REPLICA, drops what logical replication applies: a publication FOR ALL TABLES must
// neither stop nor mix two installations.
#include "pg/postgres.hpp"

extern "C" {
#include "commands/trigger.h"
#include "utils/rel.h"
}

OUTBOX_SQL_FUNCTION(outbox_refuse_foreign_row)
OUTBOX_SQL_FUNCTION(outbox_skip_replicated_row)

namespace {

const TriggerData *trigger_data(FunctionCallInfo fcinfo, const char *function)
{
    const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
    if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event))
        ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                errmsg("function outbox.%s() can only be a BEFORE ROW trigger", function),
                errdetail("CREATE EXTENSION makes the triggers that call it."),
                errhint("Do not call it, and make no trigger with it."));
    return data;
}

} // namespace

Datum outbox_refuse_foreign_row(PG_FUNCTION_ARGS)
{
    const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
    if (CALLED_AS_TRIGGER(fcinfo) && TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("table \"%s\" cannot be truncated", RelationGetRelationName(data->tg_relation)),
                errdetail("It may hold events that no relay has sent yet."),
                errhint("DROP EXTENSION outbox_relay gives the whole log up."));
    data = trigger_data(fcinfo, "refuse_foreign_row");
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("table \"%s\" takes no rows but those of outbox_relay itself",
                   RelationGetRelationName(data->tg_relation)),
            errdetail("Relays know what they have read by the transaction that wrote it; a row written, changed or "
                      "deleted by hand would break that."),
            errhint("Use outbox.emit() to write an event."));
    PG_RETURN_NULL();
}

Datum outbox_skip_replicated_row(PG_FUNCTION_ARGS)
{
    trigger_data(fcinfo, "skip_replicated_row");
    return PointerGetDatum(nullptr);
}
