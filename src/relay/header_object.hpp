// The headers that an emitter gave its event, from the text of a JSON object of scalars. Plain C++.
#pragma once

#include "transport/message.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outbox::relay {

using Headers = std::vector<std::pair<std::string, transport::HeaderValue>>;

// Properties and headers must fit into one frame. A field of the event that is longer is not copied into a header,
// rather than that its message never fits.
inline constexpr std::size_t longest_copied_header = 255;

// Appends the object's members: strings, booleans and numbers; a null is left out, and so is a name that headers had
// before. A whole number is an integer if 64 bits hold it. Any other is a double, or, where a double would overflow or
// underflow, its text: no number that a database can hold may stop a relay. outbox.emit() has refused everything else,
// so text is what jsonb writes of such an object; throws std::invalid_argument where it is not.
void append_header_object(Headers &headers, std::string_view text);

} // namespace outbox::relay
