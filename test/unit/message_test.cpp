#include "relay/message.hpp"

#include "sample_event.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace outbox::relay {
namespace {

using log::EventView;
using log::sample_event;
using Headers = std::vector<std::pair<std::string, transport::HeaderValue>>;

const std::string epoch = "6ba7b810-9dad-41d1-80b4-00c04fd430c8/3";
const LogIdentity log_identity{.id = "6ba7b810-9dad-41d1-80b4-00c04fd430c8", .epoch = epoch};

transport::Message made_of(const EventView &event, const RelayOptions &options = {})
{
    return make_message(event, options, log_identity);
}

std::int64_t created_at_header(const transport::Message &message)
{
    const auto header = std::find_if(message.headers.begin(), message.headers.end(),
                                     [](const auto &each) { return each.first == "created-at"; });
    return std::get<std::int64_t>(header->second);
}

TEST(MessageTest, PropertiesNameTheEvent)
{
    const auto message = made_of(sample_event());
    EXPECT_EQ(message.routing_key, "workitem.updated");
    EXPECT_EQ(message.message_id, "019ad2f1-7a2b-7123-8e4f-5a6b7c8d9e0f");
    EXPECT_EQ(message.type, "workitem.updated");
    EXPECT_EQ(message.content_type, "application/json");
    EXPECT_EQ(message.app_id, "outbox_relay");
    EXPECT_EQ(message.timestamp, 1'764'547'200U);
}

TEST(MessageTest, TheRelaysOptionsShapeIt)
{
    RelayOptions options;
    options.routing_key = EventTemplate::parse("plane.{entity_type}", "routing_key");
    options.app_id = "";
    options.body = Body::payload;
    const auto message = made_of(sample_event(), options);
    EXPECT_EQ(message.routing_key, "plane.workitem");
    EXPECT_EQ(message.app_id, "");
    EXPECT_EQ(message.body, R"({"data": {"name": "x"}, "previous_attributes": {}})");
}

TEST(MessageTest, PropertiesAreSentOnRequestOnly)
{
    const auto plain = made_of(sample_event());
    EXPECT_EQ(plain.correlation_id, "");
    EXPECT_EQ(plain.expiration, "");
    EXPECT_FALSE(plain.priority);

    const RelayOptions options = parse_options({{"correlation_id", "string", "{headers.request_id}"},
                                                {"expiration", "number", "60000"},
                                                {"priority", "string", "{headers.priority}"}});
    EventView event = sample_event();
    event.headers = R"({"request_id": "r-7", "priority": 9})";
    const auto message = made_of(event, options);
    EXPECT_EQ(message.correlation_id, "r-7");
    EXPECT_EQ(message.expiration, "60000");
    EXPECT_EQ(message.priority, 9);
}

TEST(MessageTest, APropertyThatTheBrokerWouldNotTakeIsLeftOut)
{
    const RelayOptions options = parse_options({{"correlation_id", "string", "{workspace_id}"},
                                                {"expiration", "string", "{schema_version}"},
                                                {"priority", "string", "{project_id}"}});
    const std::string long_text(256, 'x');
    for (const char *number : {"", "-1", "1.5", "4294967296", "7 ", "+7", "one", "99999999999999999999"}) {
        EventView event = sample_event();
        event.workspace_id = long_text;
        event.schema_version = event.project_id = number;
        const auto message = made_of(event, options);
        EXPECT_EQ(message.correlation_id, "") << number;
        EXPECT_EQ(message.expiration, "") << number;
        EXPECT_FALSE(message.priority) << number;
    }
    EventView event = sample_event();
    event.project_id = "256";
    EXPECT_FALSE(made_of(event, options).priority);
    event.project_id = "255";
    EXPECT_EQ(made_of(event, options).priority, 255);
    event.schema_version = "4294967295";
    EXPECT_EQ(made_of(event, options).expiration, "4294967295");
}

TEST(MessageTest, AnEventIsACloudEventFromItsLogIfAskedTo)
{
    RelayOptions options;
    options.body = Body::cloudevents;
    const auto structured = made_of(sample_event(), options);
    EXPECT_EQ(structured.content_type, "application/cloudevents+json; charset=utf-8");
    EXPECT_NE(structured.body.find(R"("source":"urn:uuid:6ba7b810-9dad-41d1-80b4-00c04fd430c8")"), std::string::npos);
    EXPECT_NE(structured.body.find(R"("outboxepoch":"6ba7b810-9dad-41d1-80b4-00c04fd430c8/3")"), std::string::npos);

    options.body = Body::cloudevents_binary;
    options.source = "/orders";
    const auto binary = made_of(sample_event(), options);
    EXPECT_EQ(binary.content_type, "application/json");
    EXPECT_EQ(binary.body, sample_event().payload);
    const std::pair<std::string, transport::HeaderValue> attribute = {"cloudEvents_source", "/orders"};
    EXPECT_NE(std::find(binary.headers.begin(), binary.headers.end(), attribute), binary.headers.end());
}

TEST(MessageTest, ABatchIsOneMessageOfEnvelopesThatKeepTheirHeaders)
{
    RelayOptions options;
    options.body = Body::batch;
    options.routing_key = EventTemplate::parse("{entity_type}", "routing_key");
    EventView event = sample_event();
    event.headers = R"({"weight": 2})";
    const auto one = made_of(event, options);
    event.headers = std::nullopt;
    event.event_id = "019ad2f1-7a2b-7124-8e4f-5a6b7c8d9e0f";
    const auto two = made_of(event, options);
    event.event_type = "workitem.deleted";
    const auto other = made_of(event, options);

    const auto batch = make_batch({&one, &two}, log_identity);
    EXPECT_EQ(batch.body, "[" + one.body + "," + two.body + "]");
    EXPECT_TRUE(one.body.ends_with(R"(,"headers":{"weight": 2}})"));
    EXPECT_TRUE(two.body.ends_with(R"(,"headers":null})"));
    EXPECT_EQ(batch.routing_key, "workitem");
    EXPECT_EQ(batch.message_id, one.message_id);
    EXPECT_EQ(batch.type, "workitem.updated");
    EXPECT_EQ(batch.headers, (Headers{{"outbox-epoch", epoch}, {"outbox-batch", std::int64_t{2}}}));
    EXPECT_EQ(make_batch({&one, &other}, log_identity).type, "") << "they have none in common";
    EXPECT_EQ(make_batch({&one}, log_identity).body, "[" + one.body + "]");
}

TEST(MessageTest, TheEnvelopeHoldsAllOfTheEvent)
{
    EXPECT_EQ(made_of(sample_event()).body,
              R"({"version":"1.0","id":"1764547200123456","event_id":"019ad2f1-7a2b-7123-8e4f-5a6b7c8d9e0f",)"
              R"("event_type":"workitem.updated","entity_type":"workitem",)"
              R"("entity_id":"55555555-0000-4000-8000-000000000001",)"
              R"("payload":{"data": {"name": "x"}, "previous_attributes": {}},)"
              R"("workspace_id":"11111111-0000-4000-8000-000000000001",)"
              R"("project_id":"22222222-0000-4000-8000-000000000001",)"
              R"("initiator_id":"aaaaaaaa-0000-4000-8000-000000000001","initiator_type":"USER",)"
              R"("schema_version":"1.0","transaction_id":"84211","created_at":"2025-12-01T00:00:00.123456+00:00"})");
}

TEST(MessageTest, WhatIsNullIsNullInTheEnvelope)
{
    const EventView event{
        .id = {1}, .xid = 3, .event_id = "e", .event_type = "t", .payload = "[]", .initiator_type = "U"};
    EXPECT_EQ(made_of(event).body,
              R"({"version":"1.0","id":"1","event_id":"e","event_type":"t","entity_type":null,"entity_id":null,)"
              R"("payload":[],"workspace_id":null,"project_id":null,"initiator_id":null,"initiator_type":"U",)"
              R"("schema_version":null,"transaction_id":"3","created_at":"1970-01-01T00:00:00.000000+00:00"})");
}

TEST(MessageTest, FieldsAreEscapedAndThePayloadIsNotTouched)
{
    EventView event = sample_event();
    event.entity_id = R"(["a\b", 2])";
    event.payload = "{\"a\" :  1.50,\n\"z\":\"\\u0000\"}";
    const std::string body = made_of(event).body;
    EXPECT_NE(body.find(R"("entity_id":"[\"a\\b\", 2]")"), std::string::npos) << body;
    EXPECT_NE(body.find("\"payload\":{\"a\" :  1.50,\n\"z\":\"\\u0000\"},"), std::string::npos) << body;
}

TEST(MessageTest, HeadersAreTheFieldsToFilterBy)
{
    const Headers expected = {
        {"outbox-id", std::int64_t{1'764'547'200'123'456}},
        {"outbox-epoch", epoch},
        {"created-at", std::int64_t{1'764'547'200'123}},
        {"entity-type", "workitem"},
        {"entity-id", "55555555-0000-4000-8000-000000000001"},
        {"workspace-id", "11111111-0000-4000-8000-000000000001"},
        {"project-id", "22222222-0000-4000-8000-000000000001"},
        {"initiator-id", "aaaaaaaa-0000-4000-8000-000000000001"},
        {"initiator-type", "USER"},
        {"schema-version", "1.0"},
    };
    EXPECT_EQ(made_of(sample_event()).headers, expected);
}

TEST(MessageTest, AFieldTooLongForAHeaderIsInTheEnvelopeOnly)
{
    auto event = log::sample_event();
    const std::string longest(255, 'x');
    const std::string longer(256, 'y');
    event.workspace_id = longest;
    event.project_id = longer;
    const auto message = made_of(event);
    const auto has = [&](const char *name) {
        return std::any_of(message.headers.begin(), message.headers.end(),
                           [&](const auto &header) { return header.first == name; });
    };
    EXPECT_TRUE(has("workspace-id"));
    EXPECT_FALSE(has("project-id"));
    EXPECT_NE(message.body.find(longer), std::string::npos);
}

TEST(MessageTest, WhatIsNullHasNoHeader)
{
    const EventView event{.id = {1}, .event_type = "t", .initiator_type = "USER"};
    const Headers expected = {{"outbox-id", std::int64_t{1}},
                              {"outbox-epoch", epoch},
                              {"created-at", std::int64_t{0}},
                              {"initiator-type", "USER"}};
    EXPECT_EQ(made_of(event).headers, expected);
}

TEST(MessageTest, TheEmittersHeadersFollowAndReplaceNone)
{
    EventView event{.id = {1}, .event_type = "t", .initiator_type = "USER"};
    event.headers = R"({"outbox-id": 666, "traceparent": "00-ab-cd-01", "weight": 2})";
    const Headers expected = {{"outbox-id", std::int64_t{1}},  {"outbox-epoch", epoch},
                              {"created-at", std::int64_t{0}}, {"initiator-type", "USER"},
                              {"traceparent", "00-ab-cd-01"},  {"weight", std::int64_t{2}}};
    EXPECT_EQ(made_of(event).headers, expected);
}

TEST(MessageTest, ATimeBefore1970HasNoTimestampAndIsRoundedDown)
{
    struct Case {
        std::int64_t created_at;
        std::uint64_t timestamp; // 0: not sent
        std::int64_t milliseconds;
    };
    for (const Case &each : {Case{1'999'999, 1, 1'999}, Case{0, 0, 0}, Case{-1, 0, -1}, Case{-1'000, 0, -1},
                             Case{-1'001, 0, -2}, Case{-2'500'000, 0, -2'500}}) {
        EventView event = sample_event();
        event.created_at = each.created_at;
        const auto message = made_of(event);
        EXPECT_EQ(message.timestamp, each.timestamp) << each.created_at;
        EXPECT_EQ(created_at_header(message), each.milliseconds) << each.created_at;
    }
}

} // namespace
} // namespace outbox::relay
