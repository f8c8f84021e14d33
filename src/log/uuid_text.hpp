// A UUID's text, as uuid_out writes it, at a fraction of its price: rows and messages are full of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace outbox::log {

constexpr std::size_t uuid_text_size = 36;

// Writes uuid_text_size characters; `bytes` are the UUID's 16.
inline void write_uuid_text(char *text, const std::uint8_t *bytes)
{
    using Pair = std::array<char, 2>;
    static constexpr auto hex = [] {
        constexpr char digits[] = "0123456789abcdef";
        std::array<Pair, 256> pairs{};
        for (std::size_t byte = 0; byte < pairs.size(); ++byte)
            pairs[byte] = {digits[byte >> 4], digits[byte & 0x0f]};
        return pairs;
    }();
    static constexpr std::array<int, 16> places{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

    for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(text + places[i], hex[bytes[i]].data(), sizeof(Pair));
    text[8] = text[13] = text[18] = text[23] = '-';
}

} // namespace outbox::log
