// AMQP 0-9-1 on the wire, by hand and from the specification: independent of the library under test.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outbox::test {

// method ids: class << 16 | method
namespace method {
inline constexpr std::uint32_t start = 0x000a000a;
inline constexpr std::uint32_t start_ok = 0x000a000b;
inline constexpr std::uint32_t tune = 0x000a001e;
inline constexpr std::uint32_t tune_ok = 0x000a001f;
inline constexpr std::uint32_t open = 0x000a0028;
inline constexpr std::uint32_t open_ok = 0x000a0029;
inline constexpr std::uint32_t connection_close = 0x000a0032;
inline constexpr std::uint32_t connection_close_ok = 0x000a0033;
inline constexpr std::uint32_t blocked = 0x000a003c;
inline constexpr std::uint32_t unblocked = 0x000a003d;
inline constexpr std::uint32_t channel_open = 0x0014000a;
inline constexpr std::uint32_t channel_open_ok = 0x0014000b;
inline constexpr std::uint32_t channel_close = 0x00140028;
inline constexpr std::uint32_t channel_close_ok = 0x00140029;
inline constexpr std::uint32_t exchange_declare = 0x0028000a;
inline constexpr std::uint32_t exchange_declare_ok = 0x0028000b;
inline constexpr std::uint32_t queue_declare = 0x0032000a;
inline constexpr std::uint32_t queue_declare_ok = 0x0032000b;
inline constexpr std::uint32_t confirm_select = 0x0055000a;
inline constexpr std::uint32_t confirm_select_ok = 0x0055000b;
inline constexpr std::uint32_t publish = 0x003c0028;
inline constexpr std::uint32_t returned = 0x003c0032;
inline constexpr std::uint32_t ack = 0x003c0050;
inline constexpr std::uint32_t nack = 0x003c0078;
} // namespace method

inline constexpr std::uint8_t method_frame = 1;
inline constexpr std::uint8_t header_frame = 2;
inline constexpr std::uint8_t body_frame = 3;
inline constexpr std::uint8_t heartbeat_frame = 8;
inline constexpr char frame_end = '\xce';

class Writer {
  public:
    Writer &u8(std::uint8_t value) { return number(value, 1); }
    Writer &u16(std::uint16_t value) { return number(value, 2); }
    Writer &u32(std::uint32_t value) { return number(value, 4); }
    Writer &u64(std::uint64_t value) { return number(value, 8); }
    Writer &short_string(std::string_view text)
    {
        u8(static_cast<std::uint8_t>(text.size()));
        return raw(text);
    }
    Writer &long_string(std::string_view text)
    {
        u32(static_cast<std::uint32_t>(text.size()));
        return raw(text);
    }
    Writer &raw(std::string_view bytes)
    {
        bytes_ += bytes;
        return *this;
    }
    const std::string &bytes() const { return bytes_; }

  private:
    Writer &number(std::uint64_t value, int size)
    {
        for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
            bytes_.push_back(static_cast<char>(value >> shift & 0xff));
        return *this;
    }

    std::string bytes_;
};

class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t u64() { return number(8); }
    std::string short_string() { return take(u8()); }
    std::string long_string() { return take(u32()); }
    std::string rest() { return take(bytes_.size()); }

  private:
    std::string take(std::size_t size)
    {
        if (size > bytes_.size())
            throw std::runtime_error("frame is too short");
        std::string taken(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
        return taken;
    }

    std::uint64_t number(std::size_t size)
    {
        std::uint64_t value = 0;
        for (const char byte : take(size))
            value = value << 8 | static_cast<unsigned char>(byte);
        return value;
    }

    std::string_view bytes_;
};

inline std::string frame(std::uint8_t type, std::uint16_t channel, std::string_view payload)
{
    Writer writer;
    writer.u8(type).u16(channel).long_string(payload);
    return writer.bytes() + frame_end;
}

inline std::string method_bytes(std::uint16_t channel, std::uint32_t id, std::string_view arguments = {})
{
    return frame(method_frame, channel, Writer().u32(id).raw(arguments).bytes());
}

} // namespace outbox::test
