#include "relay/header_object.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace outbox::relay {

namespace {

using transport::HeaderValue;

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    void expect(char c)
    {
        if (!accept(c))
            fail();
    }

    bool accept(char c)
    {
        skip_spaces();
        if (text_.empty() || text_.front() != c)
            return false;
        text_.remove_prefix(1);
        return true;
    }

    std::string string()
    {
        expect('"');
        std::string value;
        while (take_unless('"')) {
            if (taken_ != '\\')
                value += taken_;
            else
                append_escape(value);
        }
        return value;
    }

    void expect_end()
    {
        if (!text_.empty())
            fail();
    }

    // nullopt: JSON null.
    std::optional<HeaderValue> scalar()
    {
        skip_spaces();
        if (!text_.empty() && text_.front() == '"')
            return HeaderValue(string());
        const auto word = text_.substr(0, text_.find_first_of(",} "));
        text_.remove_prefix(word.size());
        if (word == "null")
            return std::nullopt;
        if (word == "true" || word == "false")
            return HeaderValue(word == "true");
        return number(word);
    }

  private:
    [[noreturn]] static void fail() { throw std::invalid_argument("event headers are not an object of scalars"); }

    void skip_spaces()
    {
        while (!text_.empty() && text_.front() == ' ')
            text_.remove_prefix(1);
    }

    bool take_unless(char end)
    {
        if (text_.empty())
            fail();
        taken_ = text_.front();
        text_.remove_prefix(1);
        return taken_ != end;
    }

    void append_escape(std::string &value)
    {
        take_unless('\0');
        constexpr std::string_view letters = "bfnrt";
        constexpr std::string_view meanings = "\b\f\n\r\t";
        if (taken_ == 'u') { // jsonb writes only control characters this way
            unsigned code = 0;
            const auto digits = text_.substr(0, 4);
            const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
            if (digits.size() != 4 || parsed.ptr != digits.data() + 4 || code > 0x7F)
                fail();
            value += static_cast<char>(code);
            text_.remove_prefix(4);
        } else if (const auto letter = letters.find(taken_); letter != std::string_view::npos) {
            value += meanings[letter];
        } else {
            value += taken_;
        }
    }

    static HeaderValue number(std::string_view word)
    {
        std::int64_t whole = 0;
        const auto *end = word.data() + word.size();
        if (word.find_first_not_of("+-.0123456789eE") != std::string_view::npos)
            fail(); // from_chars reads "nan" and "inf", too
        if (const auto parsed = std::from_chars(word.data(), end, whole); parsed.ec == std::errc{} && parsed.ptr == end)
            return whole;
        double real = 0;
        const auto parsed = std::from_chars(word.data(), end, real);
        if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument)
            fail();
        if (parsed.ec == std::errc::result_out_of_range)
            return std::string(word);
        return real;
    }

    std::string_view text_;
    char taken_ = '\0';
};

} // namespace

void append_header_object(Headers &headers, std::string_view text)
{
    Scanner scanner(text);
    scanner.expect('{');
    if (scanner.accept('}'))
        return scanner.expect_end();
    const std::size_t before = headers.size(); // an object of jsonb has no name twice
    const auto known = [&](const std::string &name) {
        return std::any_of(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(before),
                           [&](const auto &header) { return header.first == name; });
    };
    do {
        std::string name = scanner.string();
        scanner.expect(':');
        std::optional<HeaderValue> value = scanner.scalar();
        if (value && !known(name))
            headers.emplace_back(std::move(name), std::move(*value));
    } while (scanner.accept(','));
    scanner.expect('}');
    scanner.expect_end();
}

} // namespace outbox::relay
