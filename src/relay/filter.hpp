// Which events a relay publishes: a filter by event type, by entity type and by the type of the initiator. Plain C++.
//
// Each of the three is a list of patterns, in which * stands for any text and ? for one character; one that begins with
// ! excludes. An event passes a list if a pattern of it matches, or if it has none but excluding ones, and no excluding
// one matches. It must pass all three.
#pragma once

#include "log/event.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outbox::relay {

class PatternList {
  public:
    PatternList() = default;
    // Throws OptionError for one that is empty, or nothing but "!". `option` is its name, for the message.
    PatternList(const std::string &option, const std::vector<std::string> &patterns);

    // nullopt, an entity type that is null, matches no pattern.
    bool passes(std::optional<std::string_view> text) const;
    bool empty() const { return included_.empty() && excluded_.empty(); }
    bool operator==(const PatternList &) const = default;

  private:
    std::vector<std::string> included_;
    std::vector<std::string> excluded_;
};

struct Filter {
    PatternList event_types;
    PatternList entities;
    PatternList initiator_types;

    bool passes(const log::EventView &event) const
    {
        return event_types.passes(event.event_type) && entities.passes(event.entity_type) &&
               initiator_types.passes(event.initiator_type);
    }
    bool empty() const { return event_types.empty() && entities.empty() && initiator_types.empty(); }
    bool operator==(const Filter &) const = default;
};

} // namespace outbox::relay
