#include "capture/new_event.hpp"

#include "capture/key_lock.hpp"
#include "capture/payload.hpp"
#include "capture/payload_limit.hpp"
#include "capture/queries.hpp"
#include "capture/trace_headers.hpp"
#include "stats/capture_counts.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/guc.h"
}

namespace outbox::capture {

namespace {

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

void set_context(const CapturePlan &plan, const Change &change, Relation table, log::NewEvent *event)
{
    event->entity_id = entity_id_of(plan, change.row, table);
    event->ordering_key = key_text(plan.ordering_key, change.row);
    event->workspace_id = first_text(plan.workspace_id, change.row);
    event->project_id = first_text(plan.project_id, change.row);
    event->initiator_id = first_text(plan.initiator_id, change.latest);
}

bool ask_queries(const CapturePlan &plan, const Change &change, Purpose purpose, log::NewEvent *event, Answers *answers)
{
    if (purpose == Purpose::log) {
        if (plan.queries->serialize)
            lock_key(event->entity_type, event->ordering_key != nullptr ? event->ordering_key : event->entity_id);
        event->id = log::take_id();
    }
    if (!answer(plan.queries, change, answers))
        return false;
    if (answers->variant != nullptr && VARSIZE_ANY_EXHDR(answers->variant) > 0)
        event->event_type =
            event_type_of(text_to_cstring(answers->variant), plan.verbs[static_cast<int>(change.operation)]);
    return true;
}

void set_payload(CapturePlan *plan, const Change &change, const Answers *answers, Relation table, Purpose purpose,
                 log::NewEvent *event)
{
    const Payload payload = limited_payload(plan, change, answers, table);
    event->payload = payload.json;
    if (unlikely(payload.truncated) && purpose == Purpose::log)
        stats::count_capture(RelationGetRelid(table), stats::CaptureCount::oversized);
}

} // namespace

bool make_event(CapturePlan *plan, const Change &change, Relation table, Purpose purpose, log::NewEvent *event)
{
    *event = {};
    event->event_type = plan->event_types[static_cast<int>(change.operation)];
    if (event->event_type == nullptr)
        return false;
    event->entity_type = plan->entity_type;
    event->schema_version = plan->schema_version;
    event->initiator_type = initiator_type_of(*plan);
    event->headers = trace_headers();
    if (change.operation == Operation::truncate) {
        event->payload = empty_payload();
        return true;
    }

    const int nest_level = enter_canonical_settings(plan->settings);
    set_context(*plan, change, table, event);
    Answers answers{};
    const bool found = plan->queries == nullptr || ask_queries(*plan, change, purpose, event, &answers);
    if (found)
        set_payload(plan, change, plan->queries != nullptr ? &answers : nullptr, table, purpose, event);
    leave_canonical_settings(nest_level);
    return found;
}

} // namespace outbox::capture
