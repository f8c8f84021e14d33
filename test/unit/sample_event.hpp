// An event with every field set, for tests to change.
#pragma once

#include "log/event.hpp"

namespace outbox::log {

inline EventView sample_event()
{
    return {
        .id = {1'764'547'200'123'456},
        .xid = 84211,
        .event_id = "019ad2f1-7a2b-7123-8e4f-5a6b7c8d9e0f",
        .event_type = "workitem.updated",
        .entity_type = "workitem",
        .entity_id = "55555555-0000-4000-8000-000000000001",
        .ordering_key = std::nullopt,
        .payload = R"({"data": {"name": "x"}, "previous_attributes": {}})",
        .workspace_id = "11111111-0000-4000-8000-000000000001",
        .project_id = "22222222-0000-4000-8000-000000000001",
        .initiator_id = "aaaaaaaa-0000-4000-8000-000000000001",
        .initiator_type = "USER",
        .schema_version = "1.0",
        .headers = std::nullopt,
        .created_at = 1'764'547'200'123'456,
    };
}

} // namespace outbox::log
