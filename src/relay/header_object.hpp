// The headers that an emitter gave its event, from the text of a JSON object of scalars. Plain C++.
#pragma once

#include "transport/message.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outbox::relay {

using Headers = std::vector<std::pair<std::string, transport::HeaderValue>>;

// Appends the object's members: strings, numbers (whole ones of 64 bits as integers) and booleans; a null is left
// out, and so is a name that is in headers already. outbox.emit() has refused everything else, so text is what
// jsonb writes of such an object; throws std::invalid_argument where it is not.
void append_header_object(Headers &headers, std::string_view text);

} // namespace outbox::relay
