#include "log/event_id.hpp"

namespace outbox::log {

Uuid uuid_of(EventId id, std::uint64_t random)
{
    const auto milliseconds = static_cast<std::uint64_t>(id.value / 1000);
    const auto microseconds = static_cast<std::uint64_t>(id.value % 1000);
    const std::uint64_t high = milliseconds << 16 | 0x7000U | microseconds;
    const std::uint64_t low = std::uint64_t{1} << 63 | (random & ~(std::uint64_t{3} << 62));

    Uuid uuid;
    for (unsigned i = 0; i < 8; i++) {
        uuid[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
        uuid[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
    }
    return uuid;
}

EventId id_of(const Uuid &uuid)
{
    std::uint64_t high = 0;
    for (unsigned i = 0; i < 8; i++)
        high = high << 8 | uuid[i];
    return {static_cast<std::int64_t>((high >> 16) * 1000 + (high & 0xfffU))};
}

} // namespace outbox::log
