#include "publisher_fixture.hpp"

#include <atomic>
#include <ostream>

namespace outbox::test {
namespace {

constexpr std::size_t huge = 16000000; // more than any socket takes at once

class AmqpPublisherTest : public PublisherTest {
  protected:
    // Publishes one small message for each id, with tokens from 1.
    void publish(AmqpPublisher &publisher, const std::vector<std::string> &ids)
    {
        messages_.reserve(100); // they must stay where they are
        for (const std::string &id : ids) {
            ASSERT_TRUE(publisher.ready());
            messages_.push_back(message(id));
            publisher.publish(messages_.back(), messages_.size());
        }
        publisher.flush();
    }

    std::vector<Message> messages_;
};

TEST_F(AmqpPublisherTest, SendsTheWholeMessagePersistentAndMandatory)
{
    Published got;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        got = peer.read_message();
        peer.ack(1);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"id-1"});
    EXPECT_EQ(publisher.in_flight(), 1U);
    EXPECT_LE(publisher.oldest_in_flight(), Clock::now());
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "1:confirmed");
    EXPECT_EQ(publisher.oldest_in_flight(), Clock::time_point::max());
    EXPECT_EQ(got.exchange, "outbox");
    EXPECT_EQ(got.routing_key, "issue.created");
    EXPECT_TRUE(got.mandatory);
    EXPECT_EQ(got.message_id, "id-1");
    EXPECT_EQ(got.body, messages_[0].body);
    Reader properties(got.properties);
    EXPECT_EQ(properties.short_string(), "application/json");
    const std::string outbox_id = Writer().short_string("outbox-id").u8('l').u64(42).bytes();
    const std::string entity_type = Writer().short_string("entity-type").u8('S').long_string("issues").bytes();
    EXPECT_EQ(properties.long_string(), outbox_id + entity_type);
    EXPECT_EQ(properties.u8(), 2) << "delivery mode: persistent";
}

TEST_F(AmqpPublisherTest, AnEmptyBodyHasNoBodyFrame)
{
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        for (std::uint64_t tag = 1; tag <= 2; ++tag) {
            peer.read_message();
            peer.ack(tag);
        }
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message empty = message("empty", 0);
    publisher.publish(empty, 1);
    publisher.publish(empty, 2);
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "1:confirmed 2:confirmed");
}

TEST_F(AmqpPublisherTest, AcksAndNacksSettleOneOrMany)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        for (int i = 0; i < 7; ++i)
            peer.read_message();
        peer.ack(2);
        peer.nack(3, true);
        peer.ack(6, true);
        peer.nack(7);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a", "b", "c", "d", "e", "f", "g"});
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "2:confirmed 1:refused 3:refused 4:confirmed 5:confirmed 6:confirmed 7:refused");
}

TEST_F(AmqpPublisherTest, AReturnedMessageIsNotConfirmed)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        std::vector<Published> got;
        got.reserve(5);
        for (int i = 0; i < 5; ++i)
            got.push_back(peer.read_message());
        peer.give_back(got[1]);
        peer.give_back(got[3], 313, "NO_CONSUMERS");
        peer.ack(5, true);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a", "b", "same", "same", "c"});
    ASSERT_TRUE(drive_until_answered(publisher));
    // Nothing tells the two called "same" apart: the earlier counts.
    EXPECT_EQ(answered(), "1:confirmed 2:returned 3:returned 4:confirmed 5:confirmed");
    EXPECT_EQ(outcomes_[1].reply_code, 312);
    EXPECT_EQ(outcomes_[1].reply_text, "NO_ROUTE");
    EXPECT_EQ(outcomes_[2].reply_text, "NO_CONSUMERS");
    EXPECT_EQ(outcomes_[4].reply_code, 0);
}

TEST_F(AmqpPublisherTest, ALargeMessageComesBackInPieces)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.give_back(peer.read_message());
        peer.ack(1);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", 500000);
    publisher.publish(large, 9);
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "9:returned");
}

TEST_F(AmqpPublisherTest, FramesMayArriveByteByByte)
{
    FakeBroker broker([](Peer &peer) {
        peer.trickle();
        peer.handshake();
        const Published first = peer.read_message();
        peer.read_message();
        peer.give_back(first);
        peer.ack(1);
        peer.nack(2);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a", "b"});
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "1:returned 2:refused");
    expect_no_turn_waited();
}

TEST_F(AmqpPublisherTest, AFullSocketHoldsALargeMessageWithoutWaiting)
{
    constexpr std::size_t size = 5000000;
    std::atomic<bool> read_on = false;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        while (!read_on)
            std::this_thread::sleep_for(10ms);
        if (peer.read_message().body.size() != size)
            throw std::runtime_error("message is not whole");
        peer.ack(1);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", size);
    const auto before = Clock::now();
    publisher.publish(large, 1);
    EXPECT_LT(Clock::now() - before, 500ms);
    EXPECT_FALSE(drive(
        publisher, [] { return false; }, 500ms));
    EXPECT_FALSE(publisher.ready()) << "it is half sent";
    EXPECT_TRUE(publisher.wants_write());
    expect_no_turn_waited();
    read_on = true;
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "1:confirmed");
    EXPECT_TRUE(publisher.ready());
    expect_no_turn_waited();
}

TEST_F(AmqpPublisherTest, AFullSocketHoldsSmallMessagesWithoutWaiting)
{
    std::atomic<std::uint64_t> published = 0;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        while (published == 0)
            std::this_thread::sleep_for(10ms);
        for (std::uint64_t i = 0; i < published; ++i)
            peer.read_message();
        peer.ack(published, true);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message small = message("small", 200);
    std::uint64_t count = 0;
    const auto deadline = Clock::now() + 10s;
    while (publisher.ready() && Clock::now() < deadline)
        publisher.publish(small, ++count);
    EXPECT_LT(Clock::now(), deadline);
    EXPECT_GT(count, 1000U);
    EXPECT_TRUE(publisher.wants_write());
    published = count;
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(outcomes_.size(), count);
    expect_no_turn_waited();
}

TEST_F(AmqpPublisherTest, HeartbeatsGoOutThroughAFullSocketAndSilenceIsNoticed)
{
    FakeBroker broker([&](Peer &peer) {
        peer.start();
        peer.tune(131072, 1);
        peer.open();
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        std::this_thread::sleep_for(5s);
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", huge);
    publisher.publish(large, 1);
    const auto before = Clock::now();
    const auto error = drive_until_error(publisher, 8s);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
    EXPECT_STREQ(error->what(), "connection to the broker lost: its heartbeats stopped");
    EXPECT_LT(Clock::now() - before, 4s) << "two heartbeats of a second";
    expect_no_turn_waited();
}

TEST_F(AmqpPublisherTest, HeartbeatsKeepAnIdleConnection)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.tune(131072, 1);
        peer.open();
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        for (int i = 0; i < 6; ++i) {
            peer.send(frame(heartbeat_frame, 0, {}));
            std::this_thread::sleep_for(500ms);
        }
        peer.close_connection(320, "done");
        peer.expect(method::connection_close_ok); // read past the client's heartbeats
    });
    AmqpPublisher publisher(target(broker));
    const auto before = Clock::now();
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_STREQ(error->what(), "broker closed the connection: 320 done");
    EXPECT_GE(Clock::now() - before, 2900ms);
    EXPECT_EQ(broker.finish(), "");
}

TEST_F(AmqpPublisherTest, ABlockedConnectionTakesNothingAndItsTimeDoesNotCount)
{
    std::atomic<bool> unblock = false;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        peer.read_message();
        peer.block("low on memory");
        while (!unblock)
            std::this_thread::sleep_for(5ms);
        peer.unblock();
        peer.ack(1);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a"});
    ASSERT_TRUE(drive(publisher, [&] { return publisher.blocked(); }));
    EXPECT_EQ(publisher.blocked_reason(), "low on memory");
    EXPECT_FALSE(publisher.ready());
    EXPECT_FALSE(publisher.wants_write());
    EXPECT_FALSE(drive(
        publisher, [] { return false; }, 600ms));
    EXPECT_LT(Clock::now() - publisher.oldest_in_flight(), 500ms) << "time stands still while it is blocked";
    unblock = true;
    ASSERT_TRUE(drive(publisher, [&] { return !publisher.blocked(); }));
    EXPECT_EQ(publisher.blocked_reason(), "");
    EXPECT_TRUE(publisher.ready());
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_GE(outcomes_.at(0).elapsed, 600ms) << "the delay itself is told as it was";
}

TEST_F(AmqpPublisherTest, AnAlarmInForceIsKnownFromTheStart)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.tune();
        peer.expect(method::open);
        peer.send_method(0, method::open_ok, Writer().short_string("").bytes());
        peer.block("low on disk");
        peer.expect(method::channel_open);
        peer.send_method(1, method::channel_open_ok, Writer().long_string("").bytes());
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    ASSERT_TRUE(drive(publisher, [&] { return publisher.blocked(); }));
    EXPECT_EQ(publisher.blocked_reason(), "low on disk");
}

TEST_F(AmqpPublisherTest, AClosedChannelTellsTheBrokersReason)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.read_message();
        peer.close_channel(404, "NOT_FOUND - no exchange 'outbox' in vhost '/'");
        peer.expect(method::channel_close_ok);
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a"});
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::closed);
    EXPECT_STREQ(error->what(), "broker closed the channel: 404 NOT_FOUND - no exchange 'outbox' in vhost '/'");
    EXPECT_EQ(broker.finish(), "");
}

TEST_F(AmqpPublisherTest, WhatWasAnsweredBeforeTheEndCounts)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.read_message();
        peer.read_message();
        peer.ack(1);
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a", "b"});
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
    EXPECT_EQ(answered(), "1:confirmed");
}

TEST_F(AmqpPublisherTest, AFrameCutShortIsALostConnection)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.read_message();
        const std::string whole = method_bytes(1, method::ack, Writer().u64(1).u8(0).bytes());
        peer.send(whole.substr(0, whole.size() - 3));
    });
    AmqpPublisher publisher(target(broker));
    publish(publisher, {"a"});
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
    EXPECT_EQ(answered(), "");
}

TEST_F(AmqpPublisherTest, ABrokerThatHangsUpInTheMiddleOfASendIsNoticed)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.read_frame();
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", huge);
    std::unique_ptr<Error> error;
    try {
        publisher.publish(large, 1);
        error = drive_until_error(publisher);
    } catch (const Error &thrown) {
        error = std::make_unique<Error>(thrown);
    }
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
}

struct Nonsense {
    const char *name;
    std::string bytes;
    friend void PrintTo(const Nonsense &nonsense, std::ostream *out) { *out << nonsense.name; }
};

class NonsenseTest : public PublisherTest, public testing::WithParamInterface<Nonsense> {};

TEST_P(NonsenseTest, EndsTheConnectionAndConfirmsNothing)
{
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        peer.read_message();
        peer.send(GetParam().bytes);
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    const Message only = message("a");
    publisher.publish(only, 1);
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost) << error->what();
    EXPECT_EQ(answered(), "");
    publisher.close(100ms);
}

std::string ack_of(std::uint64_t tag, bool multiple)
{
    return method_bytes(1, method::ack, Writer().u64(tag).u8(multiple ? 1 : 0).bytes());
}

std::string return_of(const std::string &id)
{
    const std::string arguments =
        Writer().u16(312).short_string("NO_ROUTE").short_string("outbox").short_string("issue.created").bytes();
    const std::string header = Writer().u16(60).u16(0).u64(0).u16(1 << 7).short_string(id).bytes();
    return method_bytes(1, method::returned, arguments) + frame(header_frame, 1, header);
}

INSTANTIATE_TEST_SUITE_P(
    AmqpPublisher, NonsenseTest,
    testing::Values(
        Nonsense{"TagOfTheFuture", ack_of(2, false)}, Nonsense{"TagsOfTheFuture", ack_of(7, true)},
        Nonsense{"TagZero", ack_of(0, true)}, Nonsense{"HugeTag", ack_of(~std::uint64_t{0}, true)},
        Nonsense{"ReturnOfAnother", return_of("b")}, Nonsense{"ReturnedTwice", return_of("a") + return_of("a")},
        Nonsense{"HeaderWithoutReturn", frame(header_frame, 1, Writer().u16(60).u16(0).u64(0).u16(0).bytes())},
        Nonsense{"BodyWithoutReturn", frame(body_frame, 1, "x")},
        Nonsense{"UnexpectedMethod", method_bytes(1, method::confirm_select_ok)},
        Nonsense{"UnknownMethod", method_bytes(1, 0x00990099)},
        Nonsense{"FrameTooLarge", std::string("\x01\0\x01\x7f\xff\xff\xff", 7)},
        Nonsense{"NoFrameEnd", std::string("\x08\0\0\0\0\0\0\0", 8)}, Nonsense{"Http", "HTTP/1.1 400 No\r\n"}),
    [](const auto &tested) { return tested.param.name; });

TEST_F(AmqpPublisherTest, AnAnswerToAHalfSentMessageEndsTheConnection)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.ack(1);
        std::this_thread::sleep_for(1s);
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", huge);
    publisher.publish(large, 1);
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
    EXPECT_EQ(answered(), "");
}

TEST_F(AmqpPublisherTest, InterruptEndsTheConnectionAtOnce)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.wait_for_hangup();
    });
    AmqpPublisher publisher(target(broker));
    publisher.interrupt();
    const auto error = drive_until_error(publisher);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::lost);
    publisher.interrupt();
}

TEST_F(AmqpPublisherTest, CloseSaysGoodbye)
{
    FakeBroker broker([](Peer &peer) {
        peer.handshake();
        peer.expect(method::connection_close);
        peer.send_method(0, method::connection_close_ok);
        if (!peer.wait_for_hangup())
            throw std::runtime_error("client did not hang up");
    });
    {
        AmqpPublisher publisher(target(broker));
        publisher.close(2s);
    }
    EXPECT_EQ(broker.finish(), "");
}

TEST_F(AmqpPublisherTest, CloseWaitsNoLongerThanItsLimitAlsoInTheMiddleOfAMessage)
{
    std::atomic<bool> done = false;
    FakeBroker broker([&](Peer &peer) {
        peer.handshake();
        while (!done)
            std::this_thread::sleep_for(10ms);
    });
    AmqpPublisher publisher(target(broker));
    const Message large = message("large", huge);
    publisher.publish(large, 1);
    const auto before = Clock::now();
    publisher.close(300ms);
    EXPECT_LT(Clock::now() - before, 1s);
    publisher.close(300ms);
    done = true;
}

TEST_F(AmqpPublisherTest, UnfitMessagesAreKnownBeforeTheyAreSent)
{
    FakeBroker broker([](Peer &peer) {
        peer.start();
        peer.tune(8192);
        peer.open();
        peer.expect(method::exchange_declare);
        peer.send_method(1, method::exchange_declare_ok);
        peer.confirm();
        peer.read_message();
        peer.ack(1);
        peer.wait_for_hangup();
    });
    transport::Target small = target(broker);
    small.max_message_size = 100000;
    AmqpPublisher publisher(small);
    Message headers = message("headers");
    headers.headers.emplace_back("long", std::string(9000, 'x'));
    EXPECT_NE(publisher.unfit_reason(headers), "");
    EXPECT_NE(publisher.unfit_reason(message("body", 100001)), "");
    const Message fits = message("fits", 100000);
    ASSERT_EQ(publisher.unfit_reason(fits), "");
    publisher.publish(fits, 1);
    ASSERT_TRUE(drive_until_answered(publisher));
    EXPECT_EQ(answered(), "1:confirmed");
}

} // namespace
} // namespace outbox::test
