// The template of a relay's routing keys: text with event fields in braces, "{entity_type}.{event_type}".
// Doubled braces stand for themselves. A field that is null in the event becomes empty. Plain C++.
#pragma once

#include "log/event.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace outbox::relay {

class RoutingKey {
  public:
    // Throws OptionError for an unknown field or an unpaired brace.
    static RoutingKey parse(std::string_view text);

    std::string expand(const log::EventView &event) const;
    bool operator==(const RoutingKey &other) const { return text_ == other.text_; }

  private:
    using Field = std::string_view (*)(const log::EventView &);
    struct Part {
        std::string literal;
        Field field; // null: the literal
    };
    std::string text_;
    std::vector<Part> parts_;
};

} // namespace outbox::relay
