#include "relay/header_object.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace outbox::relay {
namespace {

using transport::HeaderValue;

Headers headers_of(std::string_view text)
{
    Headers headers;
    append_header_object(headers, text);
    return headers;
}

HeaderValue value_of(const std::string &json)
{
    const Headers headers = headers_of("{\"a\": " + json + "}");
    EXPECT_EQ(headers.size(), 1U) << json;
    return headers.empty() ? HeaderValue() : headers.front().second;
}

TEST(HeaderObjectTest, MembersKeepTheirOrderAndTheirTypes)
{
    const Headers expected = {
        {"s", "text"}, {"i", std::int64_t{-3}}, {"d", 0.5}, {"yes", true}, {"no", false},
    };
    EXPECT_EQ(headers_of(R"({"s": "text", "i": -3, "d": 0.5, "yes": true, "no": false})"), expected);
    EXPECT_EQ(headers_of(R"({"s":"text","i":-3,"d":0.5,"yes":true,"no":false})"), expected) << "with or without spaces";
}

TEST(HeaderObjectTest, AnEmptyObjectAddsNothing)
{
    EXPECT_TRUE(headers_of("{}").empty());
    EXPECT_TRUE(headers_of("{ }").empty());
}

TEST(HeaderObjectTest, StringsAreUnescaped)
{
    const std::pair<const char *, std::string> cases[] = {
        {R"("")", ""},
        {R"("say \"hi\"")", R"(say "hi")"},
        {R"("C:\\new")", R"(C:\new)"},
        {R"("\\")", "\\"},
        {R"("a\/b")", "a/b"},
        {R"("\b\f\n\r\t")", "\b\f\n\r\t"},
        {R"("\u0001\u001F")", "\x01\x1f"},
        {R"("a, b: {c}")", "a, b: {c}"},
        {"\"Gr\u00fc\u00dfe \U0001f600\"", "Gr\u00fc\u00dfe \U0001f600"},
    };
    for (const auto &[json, text] : cases)
        EXPECT_EQ(value_of(json), HeaderValue(text)) << json;
}

TEST(HeaderObjectTest, NamesAreUnescapedToo)
{
    EXPECT_EQ(headers_of(R"({"a \"quoted\" name": 1})"), Headers({{"a \"quoted\" name", std::int64_t{1}}}));
}

TEST(HeaderObjectTest, AWholeNumberOf64BitsIsAnInteger)
{
    const std::pair<const char *, std::int64_t> cases[] = {
        {"0", 0},
        {"-1", -1},
        {"9007199254740993", 9'007'199'254'740'993},
        {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
        {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
    };
    for (const auto &[json, number] : cases)
        EXPECT_EQ(value_of(json), HeaderValue(number)) << json;
}

TEST(HeaderObjectTest, AnyOtherNumberIsADouble)
{
    const std::pair<const char *, double> cases[] = {
        {"1.0", 1},
        {"-0.25", -0.25},
        {"9223372036854775808", 9223372036854775808.0},
        {"-9223372036854775809", -9223372036854775808.0},
        {"12345678901234567890123456789", 12345678901234567890123456789.0},
        {"1e3", 1000},
        {"2.5E-1", 0.25},
    };
    for (const auto &[json, number] : cases)
        EXPECT_EQ(value_of(json), HeaderValue(number)) << json;
}

TEST(HeaderObjectTest, ANumberThatNoDoubleHoldsIsSentAsItsText)
{
    const std::string zeros(400, '0');
    for (const std::string &json : {"1" + zeros, "-1" + zeros, "1" + zeros + ".5", "0." + zeros + "1",
                                    "-0." + zeros + "1", std::string("1e400"), std::string("-1e400")})
        EXPECT_EQ(value_of(json), HeaderValue(json));
}

TEST(HeaderObjectTest, ANullIsLeftOut)
{
    EXPECT_EQ(headers_of(R"({"a": null, "b": 1, "c": null})"), Headers({{"b", std::int64_t{1}}}));
}

TEST(HeaderObjectTest, WhatHeadersHadBeforeIsNotReplaced)
{
    Headers headers = {{"outbox-id", std::int64_t{7}}};
    append_header_object(headers, R"({"outbox-id": 8, "tenant": "blue"})");
    EXPECT_EQ(headers, Headers({{"outbox-id", std::int64_t{7}}, {"tenant", "blue"}}));
}

TEST(HeaderObjectTest, NestedThingsAreRefused)
{
    for (const char *text :
         {R"({"a": {}})", R"({"a": {"b": 1}})", R"({"a": []})", R"({"a": [1]})", R"({"a": [1, 2], "b": 3})"})
        EXPECT_THROW(headers_of(text), std::invalid_argument) << text;
}

TEST(HeaderObjectTest, WhatIsNoObjectIsRefused)
{
    for (const char *text : {"",
                             " ",
                             "null",
                             "1",
                             "\"a\"",
                             "[]",
                             "{",
                             "{\"a\"",
                             "{\"a\":",
                             "{\"a\": }",
                             "{\"a\": 1",
                             "{\"a\": 1,",
                             "{\"a\": 1,}",
                             "{\"a\" 1}",
                             "{a: 1}",
                             "{\"a\": \"x",
                             "{\"a\": \"x\\",
                             "{} {}",
                             "{\"a\": 1} x",
                             "{\"a\": 1}}",
                             "{\"a\": tru}",
                             "{\"a\": 1x}",
                             "{\"a\": nan}",
                             "{\"a\": inf}",
                             "{\"a\": -inf}",
                             "{\"a\": -}",
                             "{\"a\": 1.5.2}",
                             "{\"a\": 0x10}",
                             "{\"a\": \"\\u00\"}",
                             "{\"a\": \"\\u00e9\"}",
                             "{\"a\": \"\\u-001\"}"})
        EXPECT_THROW(headers_of(text), std::invalid_argument) << text;
}

} // namespace
} // namespace outbox::relay
