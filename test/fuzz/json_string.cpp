// libFuzzer: write_json_string() against a writer that looks at one byte at a time, in buffers of every size, each of
// which ends where AddressSanitizer watches. The server's growing buffer is made of malloc here.
#include "capture/json_string.hpp"

#include <cstdio>
#include <cstdlib>

#undef vsnprintf // the server's headers put its own in place

namespace {

std::string expected(std::string_view text)
{
    std::string json = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        static constexpr std::string_view plain = "\"\\\b\f\n\r\t";
        static constexpr std::string_view names = "\"\\bfnrt";
        static constexpr std::string_view digits = "0123456789abcdef";
        if (const auto place = plain.find(c); place != std::string_view::npos)
            json += {'\\', names[place]};
        else if (byte >= ' ')
            json += c;
        else
            json += {'\\', 'u', '0', '0', digits[byte / 16], digits[byte % 16]};
    }
    return json + '"';
}

// Of exactly that size, so that one byte more is seen.
StringInfoData buffer_of(int size)
{
    StringInfoData buffer;
    buffer.data = static_cast<char *>(std::malloc(size));
    buffer.maxlen = size;
    buffer.len = 0;
    buffer.cursor = 0;
    return buffer;
}

} // namespace

// What the server's library would bring.
extern "C" {

void enlargeStringInfo(StringInfo buffer, int needed)
{
    buffer->maxlen = buffer->len + needed + 1;
    buffer->data = static_cast<char *>(std::realloc(buffer->data, buffer->maxlen));
}

void appendStringInfo(StringInfo buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char piece[16];
    const int size = std::vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    outbox::capture::append_bytes(buffer, piece, size);
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    // A copy of its own: reading a byte behind it is seen as well.
    const std::string_view input(reinterpret_cast<const char *>(data + 1), size - 1);
    const std::unique_ptr<char[]> copy(new char[input.size()]);
    std::memcpy(copy.get(), input.data(), input.size());

    StringInfoData buffer = buffer_of(data[0] + 1);
    outbox::capture::write_json_string(&buffer, copy.get(), input.size());
    const bool same = std::string_view(buffer.data, buffer.len) == expected(input);
    std::free(buffer.data);
    if (!same)
        std::abort();
    return 0;
}
}
