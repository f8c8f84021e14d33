#include "publisher_fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace outbox::test {
namespace {

class AmqpConnectTest : public PublisherTest {
  protected:
    // Connects and expects that to fail.
    Error failure(const transport::Target &to)
    {
        const auto before = Clock::now();
        try {
            AmqpPublisher publisher(to);
        } catch (const Error &error) {
            EXPECT_LT(Clock::now() - before, to.connect_timeout + 1s);
            EXPECT_EQ(std::string(error.what()).find(to.url.password), std::string::npos) << error.what();
            return error;
        }
        ADD_FAILURE() << "connected";
        return Error(Error::Kind::lost, "");
    }

    static transport::Target secret_target(const FakeBroker &broker)
    {
        transport::Target made = target(broker);
        made.url.user = "relay";
        made.url.password = "s3cret";
        made.connect_timeout = 500ms;
        return made;
    }
};

TEST_F(AmqpConnectTest, AnnouncesWhatTheBrokerMustKnow)
{
    std::string properties;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        properties = peer.client_properties();
        peer.wait_for_hangup();
    });
    AmqpPublisher(target(broker)).interrupt();
    ASSERT_EQ(broker.finish(), "");
    const auto entry = [](const std::string &name, const std::string &value) {
        return Writer().short_string(name).u8('S').long_string(value).bytes();
    };
    EXPECT_NE(properties.find(entry("product", "outbox_relay")), std::string::npos);
    EXPECT_NE(properties.find(entry("connection_name", "unit test")), std::string::npos);
    for (const char *name : {"connection.blocked", "publisher_confirms", "basic.nack", "authentication_failure_close"})
        EXPECT_NE(properties.find(Writer().short_string(name).u8('t').u8(1).bytes()), std::string::npos) << name;
}

TEST_F(AmqpConnectTest, TheDefaultExchangeIsNotChecked)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake(false);
        peer.wait_for_hangup();
    });
    transport::Target to = target(broker);
    to.exchange = "";
    const AmqpPublisher publisher(to);
    EXPECT_GE(publisher.socket(), 0);
}

TEST_F(AmqpConnectTest, FramesAreNoLargerThanTheBrokerAllows)
{
    std::uint32_t frame_max = 0;
    FakeBroker broker([&](Peer &peer) {
        peer.start();
        peer.tune(10000);
        frame_max = peer.frame_max();
        peer.open();
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.read_message(); // throws if a frame is larger
        peer.ack(1);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", 100000);
    publisher.publish(large, 1);
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(frame_max, 10000U);
}

TEST_F(AmqpConnectTest, AMissingExchangeIsDeclaredDurable)
{
    std::string passive;
    std::string declare;
    FakeBroker broker([&](Peer &peer) {
        peer.start();
        peer.tune();
        peer.open();
        passive = peer.expect(method::exchange_declare);
        peer.close_channel(404, "NOT_FOUND - no exchange 'outbox'");
        peer.expect(method::channel_close_ok);
        peer.expect(method::channel_open);
        peer.send_method(1, method::channel_open_ok, Writer().long_string("").bytes());
        declare = peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.wait_for_hangup();
    });
    const AmqpPublisher publisher(target(broker));
    constexpr std::uint8_t passive_bit = 1;
    constexpr std::uint8_t durable_bit = 2;
    const std::string names = Writer().u16(0).short_string("outbox").short_string("topic").bytes();
    EXPECT_EQ(passive, names + Writer().u8(passive_bit | durable_bit).u32(0).bytes());
    EXPECT_EQ(declare, names + Writer().u8(durable_bit).u32(0).bytes());
}

TEST_F(AmqpConnectTest, AMissingExchangeIsAnErrorWhereItMustNotBeDeclared)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.tune();
        peer.open();
        peer.expect(method::exchange_declare);
        peer.close_channel(404, "NOT_FOUND - no exchange 'outbox'");
        peer.wait_for_hangup();
    });
    transport::Target to = secret_target(broker);
    to.declare = false;
    const Error error = failure(to);
    EXPECT_EQ(error.kind(), Error::Kind::closed);
    EXPECT_STREQ(error.what(), "broker refused exchange \"outbox\": 404 NOT_FOUND - no exchange 'outbox'");
}

// The broker's side of a client that takes a lease; returns what it asked for.
std::string take_lease(Peer &peer)
{
    peer.start();
    peer.tune();
    peer.open();
    return peer.expect(method::queue_declare);
}

TEST_F(AmqpConnectTest, TheLeaseIsAnExclusiveQueueTakenBeforeAnythingElse)
{
    std::string asked;
    FakeBroker broker([&](Peer &peer) {
        asked = take_lease(peer);
        peer.send_method(1, method::queue_declare_ok, Writer().short_string("the lease").u32(0).u32(0).bytes());
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.wait_for_hangup();
    });
    transport::Target to = target(broker);
    to.lease = "the lease";
    EXPECT_EQ(AmqpPublisher(to).lease(), transport::Lease::held);
    ASSERT_EQ(broker.finish(), "");
    constexpr std::uint8_t exclusive_bit = 4;
    EXPECT_EQ(asked, Writer().u16(0).short_string("the lease").u8(exclusive_bit).u32(0).bytes());
}

TEST_F(AmqpConnectTest, ALeaseThatIsHeldEndsTheConnection)
{
    FakeBroker broker([](Peer &peer) {
        take_lease(peer);
        peer.close_channel(405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'the lease'");
        peer.wait_for_hangup();
    });
    transport::Target to = secret_target(broker);
    to.lease = "the lease";
    const Error error = failure(to);
    EXPECT_EQ(error.kind(), Error::Kind::leased);
    EXPECT_STREQ(error.what(), "another connection holds queue \"the lease\"");
}

TEST_F(AmqpConnectTest, AUserThatMayNotDeclareQueuesGoesOnWithoutALease)
{
    FakeBroker broker([](Peer &peer) {
        take_lease(peer);
        peer.close_channel(403, "ACCESS_REFUSED - access to queue 'the lease' refused");
        peer.expect(method::channel_close_ok);
        peer.expect(method::channel_open);
        peer.send_method(1, method::channel_open_ok, Writer().long_string("").bytes());
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.wait_for_hangup();
    });
    transport::Target to = target(broker);
    to.lease = "the lease";
    EXPECT_EQ(AmqpPublisher(to).lease(), transport::Lease::not_permitted);
    EXPECT_EQ(broker.finish(), "");
}

TEST_F(AmqpConnectTest, ARefusedPasswordIsALoginError)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.close_connection(403, "ACCESS_REFUSED - Login was refused");
        peer.wait_for_hangup();
    });
    const Error error = failure(secret_target(broker));
    EXPECT_EQ(error.kind(), Error::Kind::login);
    EXPECT_STREQ(error.what(), "broker refused the login of user \"relay\" to virtual host \"/\": "
                               "403 ACCESS_REFUSED - Login was refused");
}

TEST_F(AmqpConnectTest, ARefusedGuestIsToldWhy)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.close_connection(403, "ACCESS_REFUSED");
        peer.wait_for_hangup();
    });
    transport::Target to = secret_target(broker);
    to.url.user = "guest";
    EXPECT_NE(std::string(failure(to).what()).find("loopback"), std::string::npos);
}

TEST_F(AmqpConnectTest, ARefusedVirtualHostIsALoginError)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.tune();
        peer.expect(method::open);
        peer.close_connection(530, "NOT_ALLOWED - vhost nowhere not found");
        peer.wait_for_hangup();
    });
    transport::Target to = secret_target(broker);
    to.url.vhost = "nowhere";
    const Error error = failure(to);
    EXPECT_EQ(error.kind(), Error::Kind::login);
    EXPECT_NE(std::string(error.what()).find("530 NOT_ALLOWED - vhost nowhere not found"), std::string::npos);
}

TEST_F(AmqpConnectTest, ABrokerThatShutsDownDidNotRefuseTheLogin)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.close_connection(320, "CONNECTION_FORCED - broker forced connection closure");
        peer.wait_for_hangup();
    });
    EXPECT_EQ(failure(secret_target(broker)).kind(), Error::Kind::closed);
}

// Each step of the handshake after which the broker says nothing more.
class SilentBrokerTest : public AmqpConnectTest, public testing::WithParamInterface<int> {};

TEST_P(SilentBrokerTest, IsGivenUpWhenTheTimeIsOver)
{
    FakeBroker broker([&](Peer &peer) {
        const std::function<void()> steps[] = {
            [&] { peer.start(); },
            [&] { peer.tune(); },
            [&] { peer.open(); },
            [&] {
                peer.expect(method::exchange_declare);
                peer.send_method(1, method::exchange_declare_ok);
            },
        };
        for (int i = 0; i < GetParam(); ++i)
            steps[i]();
        peer.wait_for_hangup();
    });
    const auto before = Clock::now();
    const Error error = failure(secret_target(broker));
    EXPECT_GE(Clock::now() - before, 450ms);
    EXPECT_EQ(error.kind(), Error::Kind::unreachable);
    EXPECT_NE(std::string(error.what()).find("did not answer within 500 ms"), std::string::npos) << error.what();
}

INSTANTIATE_TEST_SUITE_P(AmqpConnect, SilentBrokerTest, testing::Range(0, 5));

TEST_F(AmqpConnectTest, ABrokerThatHangsUpIsUnreachable)
{
    FakeBroker broker([](Peer &peer) { peer.start(); });
    const Error error = failure(secret_target(broker));
    EXPECT_EQ(error.kind(), Error::Kind::unreachable);
    EXPECT_NE(std::string(error.what()).find("closed the connection during the handshake"), std::string::npos);
}

TEST_F(AmqpConnectTest, AnotherProtocolIsSaidToBeOne)
{
    FakeBroker broker([](Peer &peer) {
        peer.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        peer.wait_for_hangup();
    });
    const Error error = failure(secret_target(broker));
    EXPECT_EQ(error.kind(), Error::Kind::unreachable);
    EXPECT_NE(std::string(error.what()).find("does not speak AMQP 0-9-1"), std::string::npos) << error.what();
}

TEST_F(AmqpConnectTest, AClosedPortIsUnreachable)
{
    std::uint16_t port = 0;
    {
        const FakeBroker broker([](Peer &) {});
        port = broker.port();
        const int knock = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {}};
        ::connect(knock, reinterpret_cast<sockaddr *>(&address), sizeof address);
        ::close(knock);
    }
    transport::Target to;
    to.url.endpoints = {{"127.0.0.1", port}};
    to.url.password = "s3cret";
    const Error error = failure(to);
    EXPECT_EQ(error.kind(), Error::Kind::unreachable);
    EXPECT_EQ(std::string(error.what()),
              "could not connect to broker 127.0.0.1 port " + std::to_string(port) + ": Connection refused");
}

TEST_F(AmqpConnectTest, AHostThatDoesNotExistIsUnreachable)
{
    transport::Target to;
    to.url.endpoints = {{"no-such-host.invalid", 5672}};
    to.url.password = "s3cret";
    to.connect_timeout = 1s;
    const Error error = failure(to);
    EXPECT_EQ(error.kind(), Error::Kind::unreachable);
    EXPECT_NE(std::string(error.what()).find("could not resolve broker host \"no-such-host.invalid\""),
              std::string::npos);
}

TEST_F(AmqpConnectTest, NamesTooLongForTheProtocolAreRefused)
{
    transport::Target to;
    to.url.password = "s3cret";
    to.exchange = std::string(256, 'x');
    EXPECT_EQ(failure(to).kind(), Error::Kind::closed);
}

} // namespace
} // namespace outbox::test
