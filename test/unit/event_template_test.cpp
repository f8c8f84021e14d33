#include "relay/event_template.hpp"

#include "relay/option_error.hpp"
#include "sample_event.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

std::string expanded(std::string_view text)
{
    return EventTemplate::parse(text, "routing_key").expand(log::sample_event());
}

OptionError error_of(std::string_view text)
{
    try {
        EventTemplate::parse(text, "routing_key");
    } catch (const OptionError &error) {
        return error;
    }
    ADD_FAILURE() << "accepted: " << text;
    return {"", ""};
}

TEST(EventTemplateTest, FieldsInBracesStandForTheEventsValues)
{
    const std::pair<const char *, const char *> cases[] = {
        {"", ""},
        {"fixed.key", "fixed.key"},
        {"{event_type}", "workitem.updated"},
        {"{entity_type}", "workitem"},
        {"{entity_id}", "55555555-0000-4000-8000-000000000001"},
        {"{workspace_id}", "11111111-0000-4000-8000-000000000001"},
        {"{project_id}", "22222222-0000-4000-8000-000000000001"},
        {"{initiator_id}", "aaaaaaaa-0000-4000-8000-000000000001"},
        {"{initiator_type}", "USER"},
        {"{schema_version}", "1.0"},
        {"a.{entity_type}.b.{event_type}.c", "a.workitem.b.workitem.updated.c"},
        {"{entity_type}{schema_version}", "workitem1.0"},
    };
    for (const auto &[text, key] : cases)
        EXPECT_EQ(expanded(text), key) << text;
}

TEST(EventTemplateTest, DoubledBracesStandForThemselves)
{
    const std::pair<const char *, const char *> cases[] = {
        {"{{", "{"},          {"}}", "}"}, {"{{event_type}}", "{event_type}"}, {"{{{initiator_type}}}", "{USER}"},
        {"a{{b}}c", "a{b}c"},
    };
    for (const auto &[text, key] : cases)
        EXPECT_EQ(expanded(text), key) << text;
}

TEST(EventTemplateTest, AFieldThatIsNullIsEmpty)
{
    const log::EventView event{.event_type = "ping"};
    const auto key = EventTemplate::parse(
        "{event_type}.{entity_type}.{entity_id}.{workspace_id}.{project_id}.{initiator_id}.{schema_version}", "x");
    EXPECT_EQ(key.expand(event), "ping......");
}

TEST(EventTemplateTest, HeadersOfTheEventAreFieldsToo)
{
    log::EventView event = log::sample_event();
    event.headers = R"({"tenant": "blue", "n": -7, "real": 0.5, "yes": true, "no": false, "a.b": "c", "gone": null})";
    const std::pair<const char *, const char *> cases[] = {
        {"{headers.tenant}.{event_type}", "blue.workitem.updated"},
        {"{headers.n}/{headers.real}/{headers.yes}/{headers.no}", "-7/0.5/true/false"},
        {"{headers.a.b}", "c"},
        {"x{headers.gone}{headers.other}{headers.Tenant}y", "xy"},
    };
    for (const auto &[text, expected] : cases)
        EXPECT_EQ(EventTemplate::parse(text, "x").expand(event), expected) << text;
    EXPECT_EQ(expanded("x{headers.tenant}y"), "xy") << "an event without headers";
}

TEST(EventTemplateTest, ATemplateWithoutFieldsIsConstant)
{
    EXPECT_TRUE(EventTemplate().constant());
    EXPECT_TRUE(EventTemplate().empty());
    EXPECT_TRUE(EventTemplate::parse("a{{b}}", "x").constant());
    EXPECT_FALSE(EventTemplate::parse("a{event_type}", "x").constant());
    EXPECT_FALSE(EventTemplate::parse("{headers.a}", "x").constant());
    EXPECT_FALSE(EventTemplate::parse("{headers.a}", "x").empty());
}

TEST(EventTemplateTest, AnUnknownFieldIsRefusedWithAListOfTheKnownOnes)
{
    const OptionError error = error_of("x.{entity}");
    EXPECT_STREQ(error.what(), "unknown field \"entity\" in option \"routing_key\"");
    EXPECT_EQ(error.hint(), "Known fields: event_type, entity_type, entity_id, workspace_id, project_id, initiator_id, "
                            "initiator_type, schema_version, and headers.NAME for a header of the event's own.");
    for (const char *text :
         {"{}", "{ event_type}", "{Event_Type}", "{payload}", "{event_type{{}", "{headers}", "{headers.}"})
        EXPECT_NE(std::string(error_of(text).what()).find("unknown field"), std::string::npos) << text;
}

TEST(EventTemplateTest, AnUnpairedBraceIsRefused)
{
    for (const char *text : {"{", "}", "{event_type", "event_type}", "{event_type}}", "a}b", "{{}"}) {
        EXPECT_STREQ(error_of(text).what(), "unpaired brace in option \"routing_key\"") << text;
        EXPECT_EQ(error_of(text).hint(), "Write {field} for a field, and {{ or }} for a brace.");
    }
}

TEST(EventTemplateTest, TemplatesAreEqualIfTheirTextsAre)
{
    EXPECT_EQ(EventTemplate::parse("a.{event_type}", "x"), EventTemplate::parse("a.{event_type}", "x"));
    EXPECT_NE(EventTemplate::parse("a.{event_type}", "x"), EventTemplate::parse("b.{event_type}", "x"));
    EXPECT_NE(EventTemplate::parse("{event_type}", "x"), EventTemplate::parse("{{event_type}}", "x"));
}

} // namespace
} // namespace outbox::relay
