#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace outbox::relay {

// What is wrong with an option of a relay, and what would be right.
class OptionError : public std::invalid_argument {
  public:
    OptionError(const std::string &message, std::string hint) : std::invalid_argument(message), hint_(std::move(hint))
    {
    }
    const std::string &hint() const { return hint_; }

  private:
    std::string hint_;
};

} // namespace outbox::relay
