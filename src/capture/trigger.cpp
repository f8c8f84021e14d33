// outbox.capture(): the trigger function. AFTER ... FOR EACH ROW it writes one event per changed row, AFTER
// TRUNCATE FOR EACH STATEMENT one for the table. No SPI, unless the rule has SQL. What it allocates goes with the
// trigger's per-tuple context, which the server resets before each call: a statement of a million rows needs the memory
// of one.
//
// Server regime.
#include "capture/capture_off.hpp"
#include "capture/failure.hpp"
#include "capture/new_event.hpp"
#include "capture/plan_cache.hpp"
#include "capture/trigger_rule.hpp"
#include "pg/attempt.hpp"
#include "pg/extension.hpp"
#include "stats/capture_counts.hpp"

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

Operation fired_operation(const TriggerData *call)
{
    if (TRIGGER_FIRED_BY_INSERT(call->tg_event))
        return Operation::insert;
    if (TRIGGER_FIRED_BY_DELETE(call->tg_event))
        return Operation::remove;
    return TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? Operation::update : Operation::truncate;
}

// Returns false if there is no event to write.
bool make(CapturePlan *plan, const TriggerData *call, log::NewEvent *event)
{
    Change change;
    if (TRIGGER_FIRED_BY_TRUNCATE(call->tg_event))
        change = truncation();
    else if (!find_change(*plan, old_row(call), new_row(call), &change))
        return false;
    return make_event(plan, change, call->tg_relation, Purpose::log, event);
}

// Each statement, and each partition in it, has an FmgrInfo of its own for the trigger.
void warn_once(FmgrInfo *statement, const TriggerData *call, const ErrorData &error)
{
    static char warned;
    if (statement->fn_extra == &warned)
        return;
    statement->fn_extra = &warned;
    ereport(
        WARNING, errcode(error.sqlerrcode),
        errmsg("changes of table \"%s\" went on without their events", RelationGetRelationName(call->tg_relation)),
        errdetail("The first error: %s", error.message != nullptr ? error.message : "none given"),
        errhint("outbox.capture_failure holds them; when the cause is mended, outbox.reconcile() emits the events."));
}

// What the event would have told of the row. An update may have brought the row into the rule's condition, or out of
// it: then the old row is told about, and nobody is to hear of the new one.
struct Told {
    Operation operation;
    TupleTableSlot *row;
};

Told what_was_to_tell(const CapturePlan *plan, const TriggerData *call)
{
    Change change;
    bool found = false;
    if (plan != nullptr)
        (void)pg::attempt([&] { found = find_change(*plan, old_row(call), new_row(call), &change); });
    TupleTableSlot *before = found ? change.old_row : old_row(call);
    TupleTableSlot *after = found ? change.new_row : new_row(call);
    if (after == nullptr)
        return {.operation = Operation::remove, .row = before};
    return {.operation = before == nullptr ? Operation::insert : Operation::update, .row = after};
}

// plan null: it could not be made.
void go_on_without_event(FunctionCallInfo fcinfo, const TriggerData *call, const CapturePlan *plan,
                         const ErrorData &error)
{
    const Told told = what_was_to_tell(plan, call);
    record_failure(call->tg_relation, parse_trigger_rule(*call->tg_trigger), told.operation, told.row, error);
    stats::count_capture(RelationGetRelid(call->tg_relation), stats::CaptureCount::failures);
    warn_once(fcinfo->flinfo, call, error);
}

// A late event of a TRUNCATE would tell readers to drop what has been written since.
bool may_record(const TriggerData *call)
{
    return !TRIGGER_FIRED_BY_TRUNCATE(call->tg_event);
}

void describe_rule_error(void *arg)
{
    const auto *call = static_cast<const TriggerData *>(arg);
    errcontext("rule of trigger \"%s\" of table \"%s\"", call->tg_trigger->tgname,
               RelationGetRelationName(call->tg_relation));
}

// Null: the rule cannot be compiled, which is recorded. What on_failure says can be read from it all the same.
CapturePlan *plan_of_trigger(FunctionCallInfo fcinfo, const TriggerData *call)
{
    CapturePlan *plan = find_plan(call);
    if (likely(plan != nullptr))
        return plan;

    ErrorContextCallback description{
        .previous = error_context_stack, .callback = describe_rule_error, .arg = const_cast<TriggerData *>(call)};
    error_context_stack = &description;
    const ErrorData *error = nullptr;
    if (!may_record(call) || !parse_trigger_rule(*call->tg_trigger).on_failure.is("record"))
        plan = make_plan(call);
    else
        error = pg::attempt([&] { plan = make_plan(call); });
    error_context_stack = description.previous;

    if (error != nullptr)
        go_on_without_event(fcinfo, call, nullptr, *error);
    return plan;
}

// Only the making of the event is in a subtransaction: with its insert in there, each row would use up a transaction
// id.
void capture(FunctionCallInfo fcinfo, const TriggerData *call)
{
    CapturePlan *plan = plan_of_trigger(fcinfo, call);
    if (plan == nullptr)
        return;
    log::NewEvent event;
    bool made = false;
    if (likely(!plan->record_failures || !may_record(call))) {
        made = make(plan, call, &event);
    } else if (const ErrorData *error = pg::attempt([&] { made = make(plan, call, &event); })) {
        go_on_without_event(fcinfo, call, plan, *error);
        return;
    }
    if (!made)
        return;
    log::append(event);
    stats::count_capture(RelationGetRelid(call->tg_relation), stats::CaptureCount::events);
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
    outbox::pg::require_preload();
    const auto *call = reinterpret_cast<TriggerData *>(fcinfo->context);
    check_call(call);

    if (unlikely(capture_is_off()))
        count_uncaptured(call->tg_relation, fired_operation(call));
    else
        capture(fcinfo, call);
    return PointerGetDatum(nullptr);
}
