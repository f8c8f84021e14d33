// What a relay does with events that do not get through, as its owner has chosen. Plain C++.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace outbox::relay {

enum class Ordering : std::uint8_t {
    strict,    // of each key one message is unconfirmed at a time: none overtakes another
    pipelined, // all at once: behind a refused message, later ones of its key may have been accepted
};

enum class OnUnroutable : std::uint8_t { park, discard };

enum class OnDead : std::uint8_t {
    release, // the later events of its key go on
    block,   // they wait until someone decides
};

// The names of their values in settings and options, in the order of the values.
constexpr std::array<std::string_view, 2> ordering_names{"strict", "pipelined"};
constexpr std::array<std::string_view, 2> on_unroutable_names{"park", "discard"};
constexpr std::array<std::string_view, 2> on_dead_names{"release", "block"};

} // namespace outbox::relay
