#include "relay/json_text.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

using namespace std::string_view_literals;

std::string json_string(std::string_view text)
{
    std::string json = "before";
    append_json_string(json, text);
    EXPECT_EQ(json.substr(0, 6), "before");
    return json.substr(6);
}

TEST(JsonTextTest, AStringIsQuotedAndOnlyWhatMustBeIsEscaped)
{
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"", R"("")"},
        {"plain text", R"("plain text")"},
        {R"(say "hi")", R"("say \"hi\"")"},
        {R"("")", R"("\"\"")"},
        {R"(C:\new)", R"("C:\\new")"},
        {"a/b", R"("a/b")"},
        {"one\ntwo\r\n\tthree", R"("one\ntwo\r\n\tthree")"},
        {"\x7f", "\"\x7f\""},
        {"Gr\u00fc\u00dfe \u2028 \U0001f600", "\"Gr\u00fc\u00dfe \u2028 \U0001f600\""},
        {"\0x\x01y\x1f"sv, R"("\u0000x\u0001y\u001f")"},
        {"\b\f", R"("\u0008\u000c")"},
    };
    for (const auto &[text, json] : cases)
        EXPECT_EQ(json_string(text), json);
}

TEST(JsonTextTest, EveryControlCharacterIsEscapedAndNoOtherByteBreaksAString)
{
    for (int byte = 0; byte < 256; ++byte) {
        const std::string json = json_string(std::string(1, static_cast<char>(byte)));
        const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
        EXPECT_EQ(json.size() > 3, escaped) << byte;
        EXPECT_EQ(json[1] == '\\', escaped) << byte;
    }
}

TEST(JsonTextTest, ATimestampIsUtcWithMicroseconds)
{
    constexpr std::int64_t second = 1'000'000;
    const std::pair<std::int64_t, std::string_view> cases[] = {
        {0, "1970-01-01T00:00:00.000000+00:00"},
        {1, "1970-01-01T00:00:00.000001+00:00"},
        {1'764'547'200'123'456, "2025-12-01T00:00:00.123456+00:00"},
        {951'827'696 * second, "2000-02-29T12:34:56.000000+00:00"},
        {253'402'300'800 * second - 1, "9999-12-31T23:59:59.999999+00:00"},
    };
    for (const auto &[microseconds, text] : cases)
        EXPECT_EQ(timestamp_text(microseconds), text);
}

TEST(JsonTextTest, TimesBefore1970CountForwards)
{
    const std::pair<std::int64_t, std::string_view> cases[] = {
        {-1, "1969-12-31T23:59:59.999999+00:00"},
        {-1'000'000, "1969-12-31T23:59:59.000000+00:00"},
        {-86'400'000'001, "1969-12-30T23:59:59.999999+00:00"},
        {-62'135'596'800'000'000, "0001-01-01T00:00:00.000000+00:00"},
    };
    for (const auto &[microseconds, text] : cases)
        EXPECT_EQ(timestamp_text(microseconds), text);
}

TEST(JsonTextTest, AYearAfter9999HasAsManyDigitsAsItNeeds)
{
    EXPECT_EQ(timestamp_text(253'402'300'800'000'000), "10000-01-01T00:00:00.000000+00:00");
}

} // namespace
} // namespace outbox::relay
