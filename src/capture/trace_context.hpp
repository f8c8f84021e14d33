// W3C Trace Context: whether a text is a traceparent or a tracestate, by the rules of the recommendation. Plain C++.
#pragma once

#include <string_view>

namespace outbox::capture {

bool is_traceparent(std::string_view text);
bool is_tracestate(std::string_view text);

} // namespace outbox::capture
