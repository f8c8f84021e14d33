#include "transport/amqp_url.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace outbox::transport {
namespace {

struct Good {
    const char *text;
    AmqpUrl url;
    friend void PrintTo(const Good &good, std::ostream *out) { *out << good.text; }
};

class AcceptedUrl : public testing::TestWithParam<Good> {};

TEST_P(AcceptedUrl, IsTakenApart)
{
    EXPECT_EQ(parse_amqp_url(GetParam().text), GetParam().url);
}

INSTANTIATE_TEST_SUITE_P(
    AmqpUrl, AcceptedUrl,
    testing::Values(
        Good{"amqp://host", {"guest", "guest", {{"host", 5672}}, "/"}},
        Good{"AMQP://host", {"guest", "guest", {{"host", 5672}}, "/"}},
        Good{"amqp://user:pass@host:10000/vhost", {"user", "pass", {{"host", 10000}}, "vhost"}},
        Good{"amqp://user:pass@host/%2F", {"user", "pass", {{"host", 5672}}, "/"}},
        Good{"amqp://user:pass@host/%2f%2F", {"user", "pass", {{"host", 5672}}, "//"}},
        Good{"amqp://user%61:%61pass@ho%61st:10000/v%2fhost", {"usera", "apass", {{"hoast", 10000}}, "v/host"}},
        Good{"amqp://u:p%40%3A%2F%3F%23%25@h", {"u", "p@:/?#%", {{"h", 5672}}, "/"}},
        Good{"amqp://u:p%20p@h", {"u", "p p", {{"h", 5672}}, "/"}},
        Good{"amqp://u:p@127.0.0.1:1", {"u", "p", {{"127.0.0.1", 1}}, "/"}},
        Good{"amqp://[::1]", {"guest", "guest", {{"::1", 5672}}, "/"}},
        Good{"amqp://u:p@[2001:db8::1]:65535/v", {"u", "p", {{"2001:db8::1", 65535}}, "v"}},
        Good{"amqp://u:p@my_broker-1.example.org/v", {"u", "p", {{"my_broker-1.example.org", 5672}}, "v"}},
        Good{"amqp://\xc3\xbc:p%C3%BC@h/\xc3\xbc", {"\xc3\xbc", "p\xc3\xbc", {{"h", 5672}}, "\xc3\xbc"}},
        Good{"amqp://a,b:1,[::1]:2,c", {"guest", "guest", {{"a", 5672}, {"b", 1}, {"::1", 2}, {"c", 5672}}, "/"}},
        Good{"amqp://u:p@a:1,b:2/v", {"u", "p", {{"a", 1}, {"b", 2}}, "v"}},
        Good{"amqps://u:p@a,b:1", {"u", "p", {{"a", 5671}, {"b", 1}}, "/", true}}));

struct Bad {
    const char *text;
    const char *message;
    const char *hint;
    friend void PrintTo(const Bad &bad, std::ostream *out) { *out << bad.text; }
};

class RefusedUrl : public testing::TestWithParam<Bad> {};

TEST_P(RefusedUrl, SaysWhatIsWrongAndNeverThePassword)
{
    try {
        parse_amqp_url(GetParam().text);
        FAIL() << "accepted";
    } catch (const UrlError &error) {
        EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
        EXPECT_NE(error.hint().find(GetParam().hint), std::string::npos) << error.hint();
        const std::string all = error.what() + error.hint();
        EXPECT_EQ(all.find("s3"), std::string::npos) << all;
        EXPECT_EQ(all.find("cret"), std::string::npos) << all;
    }
}

INSTANTIATE_TEST_SUITE_P(
    AmqpUrl, RefusedUrl,
    testing::Values(
        Bad{"", "no scheme", "amqp://"}, Bad{"host", "no scheme", "amqp://"},
        Bad{"u:s3cret@host", "no scheme", "amqp://"}, Bad{"amqp:host", "no scheme", "amqp://"},
        Bad{"amqp:/host", "no scheme", "amqp://"}, Bad{"http://u:s3cret@host", "unknown scheme", "amqp://"},
        Bad{"u:s3cret@host/x://", "unknown scheme", "amqp://"}, Bad{"amqp://", "no host", "host"},
        Bad{"amqp://u:s3cret@", "no host", "host"}, Bad{"amqp://u:s3cret@:5672", "no host", "host"},
        Bad{"amqp:///v", "no host", "host"}, Bad{"amqp://u:s3cret@host/", "empty name", "%2F"},
        Bad{"amqp://u:s3cret@host/a/b", "more than one path segment", "%2F"},
        Bad{"amqp://u:s3cret@host//", "more than one path segment", "%2F"},
        Bad{"amqp://u:s3/cret@host/v", "\"@\" behind its first \"/\"", "%2F"},
        Bad{"amqp://u:s3@cret@host/v", "more than one \"@\"", "%40"},
        Bad{"amqp://u:s3:cret@host/v", "more than one \":\"", "%3A"}, Bad{"amqp://u:s3#cret@host/v", "fragment", "%23"},
        Bad{"amqp://u:s3?cret@host/v", "query parameters", "%3F"},
        Bad{"amqp://u:s3%cret@host/v", "percent-encoding in the password", "%25"},
        Bad{"amqp://u:s3cret%@host/v", "percent-encoding in the password", "%25"},
        Bad{"amqp://u:s3cret%4@host/v", "percent-encoding in the password", "%25"},
        Bad{"amqp://u%zz:s3cret@host/v", "percent-encoding in the user", "%25"},
        Bad{"amqp://u:s3cret@ho%st/v", "percent-encoding in the host", "%25"},
        Bad{"amqp://u:s3cret@host/v%", "percent-encoding in the virtual host", "%25"},
        Bad{"amqp://u:s3cret%00@host/v", "control character in the password", "amqp://"},
        Bad{"amqp://u%0A:s3cret@host/v", "control character in the user", "amqp://"},
        Bad{"amqp://u:s3cret@host/v%7F", "control character in the virtual host", "amqp://"},
        Bad{"amqp://u:s3cret@host/v\n", "space or control character", "%20"},
        Bad{" amqp://u:s3cret@host/v", "space or control character", "%20"},
        Bad{"amqp://u:s3 cret@host/v", "space or control character", "%20"},
        Bad{"amqp://@host/v", "empty user", "user"}, Bad{"amqp://:s3cret@host/v", "empty user", "user"},
        Bad{"amqp://u@host/v", "no password", "password"}, Bad{"amqp://u:@host/v", "no password", "password"},
        Bad{"amqp://u:s3cret@host:/v", "invalid port", "5672"}, Bad{"amqp://u:s3cret@host:0", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@host:65536", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@host:99999999999", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@host:-1", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@host:+1", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@host:5672x", "invalid port", "65535"},
        Bad{"amqp://u:s3cret@::1", "more than one \":\" in a host", "[::1]"},
        Bad{"amqp://u:s3cret@ho_st!/v", "invalid host", "name"}, Bad{"amqp://u:s3cret@ho%2Fst", "invalid host", "name"},
        Bad{"amqp://u:s3cret@[::1", "IPv6", "[::1]"}, Bad{"amqp://u:s3cret@[]", "IPv6", "[::1]"},
        Bad{"amqp://u:s3cret@[host]", "IPv6", "[::1]"}, Bad{"amqp://u:s3cret@[127.0.0.1]", "IPv6", "[::1]"},
        Bad{"amqp://u:s3cret@a,", "no host", "comma"}, Bad{"amqp://u:s3cret@a,,b/v", "no host", "comma"},
        Bad{"amqp://u:s3cret@a,b:x/v", "invalid port", "5672"},
        Bad{"amqp://u:s3,cret@a@b/v", "more than one \"@\"", "%40"},
        Bad{"amqp://u:s3cret@[::1]5672", "between its IPv6 address and its port", "amqp://"},
        Bad{"amqp://u:s3cret@h/v?heartbeat=5", "\"heartbeat\"", "outbox_relay.heartbeat"},
        Bad{"amqp://u:s3cret@h?connection_timeout=5&x=y", "\"connection_timeout\"", "outbox_relay.connect_timeout"},
        Bad{"amqp://u:s3cret@h/v?frame_max=5", "\"frame_max\"", "negotiated"},
        Bad{"amqp://u:s3cret@h/v?channel_max=5", "\"channel_max\"", "negotiated"},
        Bad{"amqp://u:s3cret@h/v?verify=verify_peer", "query parameters", "outbox_relay.*"},
        Bad{"amqp://u:s3cret@h/v?", "query parameters", "outbox_relay.*"}));

TEST(AmqpUrl, RefusesNamesThatTheProtocolCannotCarry)
{
    EXPECT_NO_THROW(parse_amqp_url("amqp://h/" + std::string(255, 'v')));
    EXPECT_THROW(parse_amqp_url("amqp://h/" + std::string(256, 'v')), UrlError);
    EXPECT_THROW(parse_amqp_url("amqp://" + std::string(254, 'h')), UrlError);
}

TEST(AmqpUrl, ShowsEverythingButThePassword)
{
    const auto shown = [](const char *text) {
        const AmqpUrl url = parse_amqp_url(text);
        return url.redacted(url.endpoints.back());
    };
    EXPECT_EQ(shown("amqp://us%3Aer:s3cret@host:99/v%2Fh"), "amqp://us%3Aer@host:99/v%2Fh");
    EXPECT_EQ(shown("amqp://u:s3cret@[::1]"), "amqp://u@[::1]:5672/%2F");
    EXPECT_EQ(shown("amqp://\xc3\xbc:s3cret@h"), "amqp://%C3%BC@h:5672/%2F");
    EXPECT_EQ(shown("amqp://u:s3cret@a,b:2"), "amqp://u@b:2/%2F");
    EXPECT_EQ(shown("amqps://u:s3cret@a"), "amqps://u@a:5671/%2F");
}

} // namespace
} // namespace outbox::transport
