#include "relay/filter.hpp"

#include "relay/option_error.hpp"
#include "sample_event.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

bool passes(const std::vector<std::string> &patterns, std::optional<std::string_view> text)
{
    return PatternList("event_types", patterns).passes(text);
}

TEST(FilterTest, WithoutPatternsEverythingPasses)
{
    EXPECT_TRUE(PatternList().passes("order.paid"));
    EXPECT_TRUE(PatternList().passes(std::nullopt));
    EXPECT_TRUE(Filter().passes(log::sample_event()));
}

TEST(FilterTest, APatternMatchesTheWholeText)
{
    EXPECT_TRUE(passes({"order.paid"}, "order.paid"));
    for (const char *other : {"order.pai", "order.paid ", "xorder.paid", "Order.paid", ""})
        EXPECT_FALSE(passes({"order.paid"}, other)) << other;
}

TEST(FilterTest, AStarStandsForAnyText)
{
    for (const char *text : {"order.", "order.paid", "order.a.b"})
        EXPECT_TRUE(passes({"order.*"}, text)) << text;
    EXPECT_FALSE(passes({"order.*"}, "order"));
    EXPECT_TRUE(passes({"*"}, ""));
    EXPECT_TRUE(passes({"**"}, "x"));
    EXPECT_TRUE(passes({"*.paid"}, "order.unpaid.paid"));
    EXPECT_TRUE(passes({"a*b*c"}, "a-bc-bc"));
    EXPECT_FALSE(passes({"a*b*c"}, "a-bc-b"));
    EXPECT_FALSE(passes({"*ab*"}, "a-b"));
}

TEST(FilterTest, AQuestionMarkStandsForOneCharacter)
{
    EXPECT_TRUE(passes({"?"}, "x"));
    EXPECT_TRUE(passes({"gr??e"}, "größe")) << "of any number of bytes";
    EXPECT_TRUE(passes({"*?e"}, "größe"));
    EXPECT_FALSE(passes({"?"}, ""));
    EXPECT_FALSE(passes({"?"}, "xy"));
    EXPECT_FALSE(passes({"??"}, "ö"));
}

TEST(FilterTest, ALongTextOfManyStarsTakesNoTime)
{
    std::string pattern;
    for (int i = 0; i < 60; ++i)
        pattern += "*a";
    EXPECT_FALSE(passes({pattern + "*b"}, std::string(255, 'a')));
}

TEST(FilterTest, OneOfSeveralPatternsIsEnough)
{
    EXPECT_TRUE(passes({"order.*", "invoice.*"}, "invoice.paid"));
    EXPECT_FALSE(passes({"order.*", "invoice.*"}, "shipment.sent"));
}

TEST(FilterTest, AnExclamationMarkExcludesWhateverTheOthersSay)
{
    EXPECT_FALSE(passes({"!order.draft", "order.*"}, "order.draft"));
    EXPECT_FALSE(passes({"order.*", "!order.draft"}, "order.draft"));
    EXPECT_TRUE(passes({"order.*", "!order.draft"}, "order.paid"));
}

TEST(FilterTest, ExcludingPatternsAloneLetEverythingElsePass)
{
    EXPECT_FALSE(passes({"!order.*"}, "order.paid"));
    EXPECT_TRUE(passes({"!order.*"}, "invoice.paid"));
}

TEST(FilterTest, NoTextMatchesNoPattern)
{
    EXPECT_FALSE(passes({"*"}, std::nullopt));
    EXPECT_TRUE(passes({"!*"}, std::nullopt));
}

TEST(FilterTest, AnEmptyPatternOrListIsRefused)
{
    for (const std::vector<std::string> &patterns : {std::vector<std::string>{""}, {"!"}, {"order", ""}})
        try {
            (void)passes(patterns, "x");
            ADD_FAILURE();
        } catch (const OptionError &error) {
            EXPECT_STREQ(error.what(), "option \"event_types\" has an empty pattern");
        }
    EXPECT_THROW((void)passes({}, "x"), OptionError);
}

TEST(FilterTest, AnEventMustPassAllThreeLists)
{
    const auto event = log::sample_event();
    const PatternList right("x", {"workitem*", "USER"});
    const PatternList wrong("x", {"nothing"});
    EXPECT_TRUE(Filter({right, right, right}).passes(event));
    EXPECT_FALSE(Filter({wrong, right, right}).passes(event));
    EXPECT_FALSE(Filter({right, wrong, right}).passes(event));
    EXPECT_FALSE(Filter({right, right, wrong}).passes(event));
}

} // namespace
} // namespace outbox::relay
