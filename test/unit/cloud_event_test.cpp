#include "relay/cloud_event.hpp"

#include "sample_event.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

constexpr const char *source = "/orders";

std::string json_of(const log::EventView &event, const Headers &headers = {})
{
    std::string json;
    append_cloud_event(json, event, source, headers);
    return json;
}

bool has(const std::string &json, const std::string &part)
{
    return json.find(part) != std::string::npos;
}

TEST(CloudEventTest, AnEventIsOneObjectWithItsPayloadByteForByte)
{
    const Headers headers = {{"outbox-epoch", "6ba7b810/1"}, {"tracestate", "a=b"}, {"traceparent", "00-ab-cd-01"}};
    EXPECT_EQ(json_of(log::sample_event(), headers),
              R"({"datacontenttype":"application/json","specversion":"1.0",)"
              R"("id":"019ad2f1-7a2b-7123-8e4f-5a6b7c8d9e0f","source":"/orders","type":"workitem.updated",)"
              R"("time":"2025-12-01T00:00:00.123456+00:00","subject":"55555555-0000-4000-8000-000000000001",)"
              R"("sequence":"1764547200123456","outboxepoch":"6ba7b810/1","entitytype":"workitem",)"
              R"("workspaceid":"11111111-0000-4000-8000-000000000001",)"
              R"("projectid":"22222222-0000-4000-8000-000000000001",)"
              R"("initiatorid":"aaaaaaaa-0000-4000-8000-000000000001","initiatortype":"USER","schemaversion":"1.0",)"
              R"("transactionid":"84211","traceparent":"00-ab-cd-01","tracestate":"a=b",)"
              R"("data":{"data": {"name": "x"}, "previous_attributes": {}}})");
}

TEST(CloudEventTest, WhatIsNullIsLeftOut)
{
    const log::EventView event{
        .id = {1}, .xid = 3, .event_id = "e", .event_type = "t", .payload = "[]", .initiator_type = "U"};
    EXPECT_EQ(json_of(event),
              R"({"datacontenttype":"application/json","specversion":"1.0","id":"e","source":"/orders",)"
              R"("type":"t","time":"1970-01-01T00:00:00.000000+00:00","sequence":"1",)"
              R"("initiatortype":"U","transactionid":"3","data":[]})");
}

TEST(CloudEventTest, WhatCloudEventsHasNoValueForIsLeftOut)
{
    for (const char *subject : {"", "a\nb", "\x7F", "a\xC2\x80", "\xC2\x9F"}) {
        auto event = log::sample_event();
        event.entity_id = subject;
        EXPECT_FALSE(has(json_of(event), "subject")) << subject;
    }
    for (const char *subject : {" ", "\xC2\xA0", "\xC3\x80", "\"\\"}) {
        auto event = log::sample_event();
        event.entity_id = subject;
        EXPECT_TRUE(has(json_of(event), "subject")) << subject;
    }
}

TEST(CloudEventTest, ATimeThatRfc3339HasNoTextForIsLeftOut)
{
    const std::pair<std::int64_t, const char *> cases[] = {
        {-62'167'219'200'000'000, R"("time":"0000-01-01T00:00:00.000000+00:00")"},
        {253'402'300'799'999'999, R"("time":"9999-12-31T23:59:59.999999+00:00")"},
        {-62'167'219'200'000'001, nullptr},
        {253'402'300'800'000'000, nullptr},
    };
    for (const auto &[created_at, text] : cases) {
        auto event = log::sample_event();
        event.created_at = created_at;
        EXPECT_TRUE(text != nullptr ? has(json_of(event), text) : !has(json_of(event), "\"time\"")) << created_at;
    }
}

TEST(CloudEventTest, InHeadersEachAttributeHasThePrefixAndOnesTooLongAreLeftOut)
{
    auto event = log::sample_event();
    const std::string longest(255, 'x');
    const std::string longer(256, 'y');
    event.entity_id = longest;
    event.workspace_id = longer;
    event.project_id = event.initiator_id = event.schema_version = std::nullopt;
    Headers headers = {{"traceparent", "00-ab-cd-01"}, {"weight", std::int64_t{2}}};
    append_cloud_headers(headers, event, source);
    const Headers expected = {
        {"traceparent", "00-ab-cd-01"},
        {"weight", std::int64_t{2}},
        {"cloudEvents_specversion", "1.0"},
        {"cloudEvents_id", "019ad2f1-7a2b-7123-8e4f-5a6b7c8d9e0f"},
        {"cloudEvents_source", "/orders"},
        {"cloudEvents_type", "workitem.updated"},
        {"cloudEvents_time", "2025-12-01T00:00:00.123456+00:00"},
        {"cloudEvents_subject", longest},
        {"cloudEvents_sequence", "1764547200123456"},
        {"cloudEvents_entitytype", "workitem"},
        {"cloudEvents_initiatortype", "USER"},
        {"cloudEvents_transactionid", "84211"},
        {"cloudEvents_traceparent", "00-ab-cd-01"},
    };
    EXPECT_EQ(headers, expected);
}

TEST(CloudEventTest, UriReferencesHaveTheCharactersOfRfc3986)
{
    for (const char *text : {"a", "/a/b", "urn:uuid:6e8bc430", "https://[::1]:80/a?b=c&d#e", "mailto:a@b.c", "%41"})
        EXPECT_TRUE(is_uri_reference(text)) << text;
    for (const char *text : {"", " ", "a b", "\xC3\xBC", "%", "%4", "%4g", "a#b#c", "{a}", "a|b", "a\\b", "^", "`"})
        EXPECT_FALSE(is_uri_reference(text)) << text;
}

} // namespace
} // namespace outbox::relay
