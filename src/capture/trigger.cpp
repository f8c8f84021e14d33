// outbox.capture(): the trigger function. AFTER ... FOR EACH ROW it writes one event per changed row, AFTER
// TRUNCATE FOR EACH STATEMENT one for the table. No SPI. What it allocates goes with the trigger's per-tuple context,
// which the server resets before each call: a statement of a million rows needs the memory of one.
//
// Server regime.
#include "capture/diff.hpp"
#include "capture/payload.hpp"
#include "capture/plan_cache.hpp"
#include "log/append.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/guc.h"
}

namespace outbox::capture {

namespace {

// What happened to a row, in the rule's terms.
struct Change {
    Operation operation;
    Row row; // as it is now; deleted: as it was
    Row before;
    std::int16_t changed[MaxHeapAttributeNumber]; // places in plan.columns
    int changed_count;
};

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

bool is_soft_deleted(const CapturePlan &plan, const Row &row)
{
    return plan.soft_delete >= 0 && !row.nulls[plan.soft_delete];
}

// Returns false if there is no event to write.
bool find_change(const CapturePlan &plan, const TriggerData *call, Change *change)
{
    change->row = row_of(plan, call->tg_trigslot);
    change->before = change->row;
    change->changed_count = 0;

    if (TRIGGER_FIRED_BY_INSERT(call->tg_event)) {
        change->operation = Operation::insert;
        return true;
    }
    if (TRIGGER_FIRED_BY_DELETE(call->tg_event)) {
        // The soft delete was the event.
        change->operation = Operation::remove;
        return !is_soft_deleted(plan, change->row);
    }

    change->row = row_of(plan, call->tg_newslot);
    change->changed_count = find_changes(plan, change->before, change->row, change->changed);
    if (is_soft_deleted(plan, change->row) && !is_soft_deleted(plan, change->before)) {
        change->operation = Operation::remove;
        return true;
    }
    change->operation = Operation::update;
    return change->changed_count > 0;
}

text *entity_id_of(const CapturePlan &plan, const Row &row, Relation table)
{
    for (int i = 0; i < plan.entity_id.count; i++) {
        const Column &column = plan.entity_id.columns[i];
        if (unlikely(row.is_null(column)))
            ereport(ERROR, errcode(ERRCODE_NOT_NULL_VIOLATION),
                    errmsg("column \"%s\" of table \"%s\" is null, but identifies the row in its event",
                           NameStr(TupleDescAttr(RelationGetDescr(table), column.index)->attname),
                           RelationGetRelationName(table)),
                    errhint("Make the column NOT NULL, or give the rule another \"entity_id\"."));
    }
    return key_text(plan.entity_id, row);
}

// A setting that is not set, or is empty, leaves the default.
text *initiator_type_of(const CapturePlan &plan)
{
    if (plan.initiator_type_setting == nullptr)
        return nullptr;
    const char *type = GetConfigOption(plan.initiator_type_setting, true, true);
    return type != nullptr && *type != '\0' ? cstring_to_text(type) : nullptr;
}

log::NewEvent event_of(const CapturePlan &plan, Operation operation)
{
    log::NewEvent event{};
    event.event_type = plan.event_types[static_cast<int>(operation)];
    event.entity_type = plan.entity_type;
    event.schema_version = plan.schema_version;
    event.initiator_type = initiator_type_of(plan);
    return event;
}

void capture_row(CapturePlan *plan, const TriggerData *call)
{
    Change change;
    if (!find_change(*plan, call, &change))
        return;
    log::NewEvent event = event_of(*plan, change.operation);
    if (event.event_type == nullptr)
        return;

    const int nest_level = enter_canonical_settings(plan->settings);
    event.entity_id = entity_id_of(*plan, change.row, call->tg_relation);
    event.ordering_key = key_text(plan->ordering_key, change.row);
    event.workspace_id = first_text(plan->workspace_id, change.row);
    event.project_id = first_text(plan->project_id, change.row);
    event.initiator_id = first_text(plan->initiator_id, change.row);
    event.payload = write_payload(plan, change.row, change.before, change.changed, change.changed_count);
    leave_canonical_settings(nest_level);

    log::append(event);
}

void capture_truncate(const CapturePlan &plan)
{
    log::NewEvent event = event_of(plan, Operation::truncate);
    if (event.event_type == nullptr)
        return;
    event.payload = empty_payload();
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

    CapturePlan *plan = plan_of_trigger(call);
    if (TRIGGER_FIRED_BY_TRUNCATE(call->tg_event))
        capture_truncate(*plan);
    else
        capture_row(plan, call);
    return PointerGetDatum(nullptr);
}
