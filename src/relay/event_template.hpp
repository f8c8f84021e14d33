// A template over an event: text with fields in braces, "{entity_type}.{event_type}", as options such as routing_key
// have them. {headers.name} is a header that the event was emitted with. Doubled braces stand for themselves. A field
// that is null in the event, and a header that it does not have, becomes empty. Plain C++.
#pragma once

#include "log/event.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace outbox::relay {

class EventTemplate {
  public:
    EventTemplate() = default; // the empty text

    // Throws OptionError, which names the option, for an unknown field or an unpaired brace.
    static EventTemplate parse(std::string_view text, std::string_view option);

    std::string expand(const log::EventView &event) const;
    bool empty() const { return parts_.empty(); }
    bool constant() const; // the same for every event
    bool operator==(const EventTemplate &other) const { return text_ == other.text_; }

  private:
    using Field = std::string_view (*)(const log::EventView &);
    struct Part {
        enum class Kind { literal, field, header };
        Kind kind;
        std::string text; // the literal, or the header's name
        Field field = nullptr;
    };
    static Part parse_field(std::string_view name, std::string_view option);

    std::string text_;
    std::vector<Part> parts_;
};

} // namespace outbox::relay
