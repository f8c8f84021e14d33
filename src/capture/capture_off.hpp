// Capture switched off by outbox.capture_off(), for the rest of one transaction. What goes by is counted per table, and
// the counts become events at commit: consumers learn that they have missed something, and by whose decision.
//
// Server regime.
#pragma once

#include "capture/rule.hpp"

namespace outbox::capture {

// True from outbox.capture_off() until the end of the (sub)transaction's top-level transaction; rolling back the
// savepoint that it was called after ends it, too.
bool capture_is_off();

// One change that was not captured.
void count_uncaptured(Relation table, Operation operation);

} // namespace outbox::capture
