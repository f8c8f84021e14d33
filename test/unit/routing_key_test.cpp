#include "relay/routing_key.hpp"

#include "relay/option_error.hpp"
#include "sample_event.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

std::string expanded(std::string_view text)
{
    return RoutingKey::parse(text).expand(log::sample_event());
}

OptionError error_of(std::string_view text)
{
    try {
        RoutingKey::parse(text);
    } catch (const OptionError &error) {
        return error;
    }
    ADD_FAILURE() << "accepted: " << text;
    return {"", ""};
}

TEST(RoutingKeyTest, FieldsInBracesStandForTheEventsValues)
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

TEST(RoutingKeyTest, DoubledBracesStandForThemselves)
{
    const std::pair<const char *, const char *> cases[] = {
        {"{{", "{"},          {"}}", "}"}, {"{{event_type}}", "{event_type}"}, {"{{{initiator_type}}}", "{USER}"},
        {"a{{b}}c", "a{b}c"},
    };
    for (const auto &[text, key] : cases)
        EXPECT_EQ(expanded(text), key) << text;
}

TEST(RoutingKeyTest, AFieldThatIsNullIsEmpty)
{
    const log::EventView event{.event_type = "ping"};
    const auto key = RoutingKey::parse(
        "{event_type}.{entity_type}.{entity_id}.{workspace_id}.{project_id}.{initiator_id}.{schema_version}");
    EXPECT_EQ(key.expand(event), "ping......");
}

TEST(RoutingKeyTest, AnUnknownFieldIsRefusedWithAListOfTheKnownOnes)
{
    const OptionError error = error_of("x.{entity}");
    EXPECT_STREQ(error.what(), "unknown field \"entity\" in option \"routing_key\"");
    EXPECT_EQ(error.hint(), "Known fields: event_type, entity_type, entity_id, workspace_id, project_id, initiator_id, "
                            "initiator_type, schema_version.");
    for (const char *text : {"{}", "{ event_type}", "{Event_Type}", "{payload}", "{event_type{{}"})
        EXPECT_NE(std::string(error_of(text).what()).find("unknown field"), std::string::npos) << text;
}

TEST(RoutingKeyTest, AnUnpairedBraceIsRefused)
{
    for (const char *text : {"{", "}", "{event_type", "event_type}", "{event_type}}", "a}b", "{{}"}) {
        EXPECT_STREQ(error_of(text).what(), "unpaired brace in option \"routing_key\"") << text;
        EXPECT_EQ(error_of(text).hint(), "Write {field} for a field, and {{ or }} for a brace.");
    }
}

TEST(RoutingKeyTest, KeysAreEqualIfTheirTextsAre)
{
    EXPECT_EQ(RoutingKey::parse("a.{event_type}"), RoutingKey::parse("a.{event_type}"));
    EXPECT_NE(RoutingKey::parse("a.{event_type}"), RoutingKey::parse("b.{event_type}"));
    EXPECT_NE(RoutingKey::parse("{event_type}"), RoutingKey::parse("{{event_type}}"));
}

} // namespace
} // namespace outbox::relay
