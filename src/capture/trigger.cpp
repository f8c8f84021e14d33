// outbox.capture(): the trigger function. AFTER ... FOR EACH ROW it writes one event per changed row, AFTER
// TRUNCATE FOR EACH STATEMENT one for the table. No SPI, unless the rule has SQL. What it allocates goes with the
// trigger's per-tuple context, which the server resets before each call: a statement of a million rows needs the memory
// of one.
//
// Server regime.
#include "capture/new_event.hpp"
#include "capture/plan_cache.hpp"

namespace outbox::capture {

namespace {

void check_call(const TriggerData *call)
{
    const bool row = TRIGGER_FIRED_FOR_ROW(call->tg_event);
    const bool truncate = TRIGGER_FIRED_BY_TRUNCATE(call->tg_event);
    if (TRIGGER_FIRED_AFTER(call->tg_event) && row != truncate)
        return;
    ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" of table \"%s\" must be AFTER INSERT OR UPDATE OR DELETE FOR EACH ROW, or AFTER "
                   "TRUNCATE FOR EACH STATEMENT",
                   call->tg_trigger->tgname, RelationGetRelationName(call->tg_relation)),
            errdetail("It is the trigger of outbox.capture(), which needs the rows as they were stored."),
            errhint("Let outbox.track() create the trigger, or create it again."));
}

TupleTableSlot *old_row(const TriggerData *call)
{
    return TRIGGER_FIRED_BY_INSERT(call->tg_event) ? nullptr : call->tg_trigslot;
}

TupleTableSlot *new_row(const TriggerData *call)
{
    if (TRIGGER_FIRED_BY_DELETE(call->tg_event))
        return nullptr;
    return TRIGGER_FIRED_BY_INSERT(call->tg_event) ? call->tg_trigslot : call->tg_newslot;
}

void capture(CapturePlan *plan, const TriggerData *call)
{
    Change change;
    if (TRIGGER_FIRED_BY_TRUNCATE(call->tg_event))
        change = truncation();
    else if (!find_change(*plan, old_row(call), new_row(call), &change))
        return;
    log::NewEvent event;
    if (make_event(plan, change, call->tg_relation, Purpose::log, &event))
        log::append(event);
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_capture)

Datum outbox_capture(PG_FUNCTION_ARGS)
{
    using namespace outbox::capture;

    if (!CALLED_AS_TRIGGER(fcinfo))
        ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                errmsg("outbox.capture() can only be called as a trigger"),
                errhint("Track a table with outbox.track()."));
    const auto *call = reinterpret_cast<TriggerData *>(fcinfo->context);
    check_call(call);

    capture(plan_of_trigger(call), call);
    return PointerGetDatum(nullptr);
}
