// How large an event's payload may be: by the rule's max_event_size, or the setting. A message that no broker takes
// would hold up all behind it.
//
// Server regime.
#pragma once

#include "capture/change.hpp"

namespace outbox::capture {

struct Answers;

// The payload of the change, or what stands in its place if that is too large. Raises program_limit_exceeded if the
// rule says "block". answers: null if the rule has no queries.
struct Payload {
    text *json;
    bool truncated;
};
Payload limited_payload(CapturePlan *plan, const Change &change, const Answers *answers, Relation table);

} // namespace outbox::capture
