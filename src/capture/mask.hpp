// Masks: what an event holds in place of a value that its readers must not see. A value that is null stays null.
//
// Server regime.
#pragma once

#include "capture/json_writer.hpp"

namespace outbox::capture {

// The way is one of those that the rule key "mask" takes. Allocates in the current memory context. Raises
// object_not_in_prerequisite_state if a hash is asked for and no salt is set.
ValueFormat mask_format(const ValueFormat &plain, const char *way);

// Hexadecimal SHA-256 of outbox_relay.mask_salt and the value's text in UTF-8, as a JSON string.
void write_sha256(StringInfo out, const ValueFormat &plain, Datum value);

} // namespace outbox::capture
