#include "relay/options.hpp"

#include <gtest/gtest.h>

namespace outbox::relay {
namespace {

OptionError error_of(const Option &option)
{
    try {
        parse_options({option});
    } catch (const OptionError &error) {
        return error;
    }
    ADD_FAILURE() << "accepted: " << option.key << " = " << option.text;
    return {"", ""};
}

TEST(OptionsTest, WithoutAnyTheDefaultsHold)
{
    const RelayOptions options = parse_options({});
    EXPECT_EQ(options, RelayOptions{});
    EXPECT_EQ(options.exchange, "outbox");
    EXPECT_EQ(options.exchange_type, "topic");
    EXPECT_TRUE(options.declare);
    EXPECT_EQ(options.routing_key, EventTemplate::parse("{event_type}", "routing_key"));
    EXPECT_EQ(options.body, Body::envelope);
    EXPECT_EQ(options.app_id, "outbox_relay");
    EXPECT_FALSE(options.max_in_flight || options.batch_size || options.confirm_timeout);
}

TEST(OptionsTest, EachOptionSetsItsOwnMember)
{
    const RelayOptions options = parse_options({
        {"app_id", "string", ""},
        {"batch_body_size", "number", "512"},
        {"batch_events", "number", "7"},
        {"batch_size", "number", "50"},
        {"body", "string", "payload"},
        {"confirm_timeout", "number", "30000"},
        {"correlation_id", "string", "{entity_id}"},
        {"declare", "boolean", "false"},
        {"exchange", "string", "plane.event_stream"},
        {"exchange_type", "string", "fanout"},
        {"expiration", "string", "{headers.ttl}"},
        {"linger", "number", "0"},
        {"max_in_flight", "number", "8"},
        {"priority", "number", "0"},
        {"routing_key", "string", "x.{entity_type}"},
        {"source", "string", "https://example.com/orders?a=%20#b"},
    });
    EXPECT_EQ(options.app_id, "");
    EXPECT_EQ(options.batch_body_size, 512);
    EXPECT_EQ(options.batch_events, 7);
    EXPECT_EQ(options.linger, 0);
    EXPECT_EQ(options.batch_size, 50);
    EXPECT_EQ(options.body, Body::payload);
    EXPECT_EQ(options.confirm_timeout, 30'000);
    EXPECT_FALSE(options.declare);
    EXPECT_EQ(options.exchange, "plane.event_stream");
    EXPECT_EQ(options.exchange_type, "fanout");
    EXPECT_EQ(options.max_in_flight, 8);
    EXPECT_EQ(options.routing_key, EventTemplate::parse("x.{entity_type}", "routing_key"));
    EXPECT_EQ(options.correlation_id, EventTemplate::parse("{entity_id}", "x"));
    EXPECT_EQ(options.expiration, EventTemplate::parse("{headers.ttl}", "x"));
    EXPECT_EQ(options.priority, EventTemplate::parse("0", "x"));
    EXPECT_EQ(options.source, "https://example.com/orders?a=%20#b");
}

TEST(OptionsTest, AChangeOfAnyOptionIsSeen)
{
    for (const Option &option :
         std::vector<Option>{{"app_id", "string", "x"},           {"batch_body_size", "number", "1000"},
                             {"batch_events", "number", "1"},     {"batch_size", "number", "1000"},
                             {"body", "string", "payload"},       {"confirm_timeout", "number", "60000"},
                             {"correlation_id", "string", "x"},   {"declare", "boolean", "false"},
                             {"exchange", "string", ""},          {"exchange_type", "string", "direct"},
                             {"expiration", "number", "0"},       {"linger", "number", "0"},
                             {"max_attempts", "number", "20"},    {"max_in_flight", "number", "4096"},
                             {"max_parked", "number", "100000"},  {"on_dead", "string", "release"},
                             {"on_unroutable", "string", "park"}, {"ordering", "string", "strict"},
                             {"priority", "number", "0"},         {"unroutable_ttl", "number", "172800"},
                             {"routing_key", "string", ""},       {"source", "string", "/x"}})
        EXPECT_NE(parse_options({option}), RelayOptions{}) << option.key;
}

TEST(OptionsTest, AnUnknownOptionIsRefusedWithAListOfTheKnownOnes)
{
    const OptionError error = error_of({"exchagne", "string", "x"});
    EXPECT_STREQ(error.what(), "unknown option \"exchagne\"");
    EXPECT_EQ(error.hint(), "Known options: app_id, batch_body_size, batch_events, batch_size, body, confirm_timeout, "
                            "correlation_id, declare, entities, event_types, "
                            "exchange, exchange_type, expiration, initiator_types, lanes, lease, linger, max_attempts, "
                            "max_in_flight, max_parked, on_dead, "
                            "on_unroutable, ordering, priority, routing_key, source, unroutable_ttl.");
}

TEST(OptionsTest, AValueOfTheWrongTypeIsRefused)
{
    const std::pair<Option, const char *> cases[] = {
        {{"exchange", "number", "1"}, "option \"exchange\" must be of type string, not number"},
        {{"declare", "string", "true"}, "option \"declare\" must be of type boolean, not string"},
        {{"routing_key", "array", "[]"}, "option \"routing_key\" must be of type string, not array"},
        {{"priority", "boolean", "true"}, "option \"priority\" must be of type number or string, not boolean"},
        {{"max_in_flight", "string", "8"}, "option \"max_in_flight\" must be of type number, not string"},
    };
    for (const auto &[option, message] : cases) {
        EXPECT_STREQ(error_of(option).what(), message);
        EXPECT_EQ(error_of(option).hint(), "null puts an option back to its default.");
    }
}

Option list_of(const char *key, const std::vector<const char *> &texts)
{
    Option option{key, "array", "[...]", {}};
    for (const char *text : texts)
        option.items.push_back({"", "string", text, {}});
    return option;
}

TEST(OptionsTest, AFilterIsAListOfTextsOrOneText)
{
    const Filter filter = parse_options({list_of("event_types", {"order.*", "!*.draft"}),
                                         {"entities", "string", "order", {}},
                                         list_of("initiator_types", {"USER"})})
                              .filter;
    EXPECT_EQ(filter.event_types, PatternList("", {"order.*", "!*.draft"}));
    EXPECT_EQ(filter.entities, PatternList("", {"order"}));
    EXPECT_EQ(filter.initiator_types, PatternList("", {"USER"}));
}

TEST(OptionsTest, AFilterOfOtherThanTextsIsRefused)
{
    const Option mixed{"entities", "array", "[1]", {{"", "number", "1", {}}}};
    EXPECT_STREQ(error_of(mixed).what(), "option \"entities\" must be a list of strings, but has a number");
    EXPECT_STREQ(error_of({"entities", "number", "1", {}}).what(),
                 "option \"entities\" must be of type string or array, not number");
    EXPECT_STREQ(error_of(list_of("entities", {})).what(), "option \"entities\" has no pattern");
}

TEST(OptionsTest, TheBoundsOfANumberAreWithinThem)
{
    EXPECT_EQ(parse_options({{"max_in_flight", "number", "1"}}).max_in_flight, 1);
    EXPECT_EQ(parse_options({{"max_in_flight", "number", "65535"}}).max_in_flight, 65'535);
    EXPECT_EQ(parse_options({{"batch_size", "number", "1"}}).batch_size, 1);
    EXPECT_EQ(parse_options({{"batch_size", "number", "100000"}}).batch_size, 100'000);
    EXPECT_EQ(parse_options({{"confirm_timeout", "number", "1000"}}).confirm_timeout, 1'000);
    EXPECT_EQ(parse_options({{"confirm_timeout", "number", "2147483647"}}).confirm_timeout, 2'147'483'647);
}

TEST(OptionsTest, ANumberOutOfRangeOrNotWholeIsRefusedWithTheRange)
{
    struct Case {
        const char *key;
        std::vector<const char *> refused;
        const char *hint;
    };
    const Case cases[] = {
        {"max_in_flight", {"0", "-1", "65536"}, "Use a whole number of messages from 1 to 65535."},
        {"lanes", {"0", "-1", "33"}, "Use a whole number of lanes from 1 to 32."},
        {"batch_size", {"0", "-1", "100001"}, "Use a whole number of events from 1 to 100000."},
        {"confirm_timeout", {"999", "0", "2147483648"}, "Use a whole number of milliseconds from 1000 to 2147483647."},
        {"max_attempts", {"0", "1000001"}, "Use a whole number of attempts from 1 to 1000000."},
        {"max_parked", {"0", "10000001"}, "Use a whole number of events from 1 to 10000000."},
        {"unroutable_ttl", {"0", "2147483648"}, "Use a whole number of seconds from 1 to 2147483647."},
    };
    for (const Case &each : cases) {
        std::vector<const char *> refused = each.refused;
        refused.insert(refused.end(), {"1500.5", "1500.0", "-1500", "99999999999999999999999"});
        for (const char *text : refused) {
            const OptionError error = error_of({each.key, "number", text});
            EXPECT_EQ(error.what(), "invalid value for option \"" + std::string(each.key) + "\": " + text);
            EXPECT_EQ(error.hint(), each.hint);
        }
    }
}

TEST(OptionsTest, WhatAmqpCannotTakeIsRefused)
{
    for (const char *key : {"app_id", "correlation_id", "exchange", "exchange_type", "routing_key", "source"}) {
        EXPECT_NO_THROW(parse_options({{key, "string", std::string(255, 'x')}})) << key;
        const OptionError error = error_of({key, "string", std::string(256, 'x')});
        EXPECT_EQ(error.what(), "value of option \"" + std::string(key) + "\" is too long");
        EXPECT_EQ(error.hint(), "AMQP allows at most 255 bytes.");
    }
}

TEST(OptionsTest, TheTextOfATemplateMayBeLongerThanTheKeysItMakes)
{
    std::string text;
    for (int i = 0; i < 30; ++i)
        text += "{initiator_type}{{";
    EXPECT_NO_THROW(parse_options({{"routing_key", "string", text}}));
}

TEST(OptionsTest, AnUnknownBodyIsRefused)
{
    const OptionError error = error_of({"body", "string", "cloudevent"});
    EXPECT_STREQ(error.what(), "invalid value for option \"body\": \"cloudevent\"");
    EXPECT_EQ(error.hint(), "Use envelope, payload, cloudevents, cloudevents-binary or batch.");
}

TEST(OptionsTest, AConstantPriorityOrExpirationThatCannotBeSentIsRefused)
{
    for (const char *text : {"-1", "256", "1.5", "", "high", "7 "}) {
        const OptionError error = error_of({"priority", "string", text});
        EXPECT_EQ(error.what(), "invalid value for option \"priority\": " + std::string(text));
        EXPECT_EQ(error.hint(), "Use a whole number from 0 to 255, or a template such as {headers.priority}.");
    }
    EXPECT_EQ(error_of({"expiration", "number", "4294967296"}).hint(),
              "Use a whole number of milliseconds from 0 to 4294967295, or a template such as {headers.expiration}.");
    EXPECT_STREQ(error_of({"priority", "string", "{prio}"}).what(), "unknown field \"prio\" in option \"priority\"");
}

TEST(OptionsTest, ASourceThatIsNoUriReferenceIsRefused)
{
    for (const char *text : {"", "two words", "https://example.com/ü", "/a%2", "/a%zz", "a#b#c", "<x>", "a\"b", "a\nb"})
        EXPECT_EQ(error_of({"source", "string", text}).hint(),
                  "Use a URI reference, such as https://example.com/orders or /orders.")
            << text;
}

TEST(OptionsTest, APolicyIsOneOfItsNames)
{
    EXPECT_EQ(parse_options({{"ordering", "string", "strict"}}).ordering, Ordering::strict);
    EXPECT_EQ(parse_options({{"ordering", "string", "pipelined"}}).ordering, Ordering::pipelined);
    EXPECT_EQ(parse_options({{"on_dead", "string", "release"}}).on_dead, OnDead::release);
    EXPECT_EQ(parse_options({{"on_dead", "string", "block"}}).on_dead, OnDead::block);
    EXPECT_EQ(parse_options({{"on_unroutable", "string", "park"}}).on_unroutable, OnUnroutable::park);
    EXPECT_EQ(parse_options({{"on_unroutable", "string", "discard"}}).on_unroutable, OnUnroutable::discard);
    const std::pair<const char *, const char *> cases[] = {{"ordering", "Use strict or pipelined."},
                                                           {"on_dead", "Use release or block."},
                                                           {"on_unroutable", "Use park or discard."}};
    for (const auto &[key, hint] : cases) {
        const OptionError error = error_of({key, "string", "never"});
        EXPECT_EQ(error.what(), "invalid value for option \"" + std::string(key) + "\": \"never\"");
        EXPECT_EQ(error.hint(), hint);
    }
}

TEST(OptionsTest, AnExchangeTypeIsNeededAndAnExchangeIsNot)
{
    EXPECT_STREQ(error_of({"exchange_type", "string", ""}).what(), "option \"exchange_type\" must not be empty");
    EXPECT_EQ(parse_options({{"exchange", "string", ""}}).exchange, "");
}

} // namespace
} // namespace outbox::relay
