#include "transport/amqp_content.hpp"

#include <gtest/gtest.h>

#include <array>

namespace outbox::transport {
namespace {

constexpr std::size_t frame_max = 131072;
constexpr std::size_t body_max = 1000;

Message whole_message()
{
    Message message;
    message.routing_key = "issue.created";
    message.message_id = "0192";
    message.type = "issue.created";
    message.content_type = "application/json";
    message.app_id = "outbox_relay";
    message.correlation_id = "request-7";
    message.expiration = "60000";
    message.priority = 0;
    message.timestamp = 1764547200;
    message.headers = {
        {"text", std::string("value")},
        {"number", std::int64_t{-5}},
        {"real", 0.5},
        {"flag", true},
        {"", std::string()},
    };
    message.body = "{}";
    return message;
}

std::size_t encoded_size(const Message &message)
{
    ContentHeader content;
    std::array<char, frame_max> buffer{};
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &content.fill(message), {buffer.size(), buffer.data()});
    EXPECT_GE(size, 0);
    return frame_overhead + 12 + static_cast<std::size_t>(size);
}

TEST(AmqpContent, HeaderFrameSizeIsWhatTheLibrarySends)
{
    Message message = whole_message();
    EXPECT_EQ(header_frame_size(message), encoded_size(message));
}

TEST(AmqpContent, HeaderFrameSizeIsAnUpperBoundForWhatIsLeftOut)
{
    EXPECT_GE(header_frame_size(Message{}), encoded_size(Message{}));
}

TEST(AmqpContent, EmptyPropertiesAreNotSent)
{
    ContentHeader content;
    constexpr amqp_flags_t asked_for =
        AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_PRIORITY_FLAG;
    EXPECT_EQ(content.fill(whole_message())._flags & asked_for, asked_for);
    EXPECT_EQ(content.fill(Message{})._flags, static_cast<amqp_flags_t>(AMQP_BASIC_DELIVERY_MODE_FLAG));
}

TEST(AmqpContent, AFittingMessageHasNoReasonAgainstIt)
{
    EXPECT_EQ(unfit_for(whole_message(), frame_max, body_max), "");
    Message message = whole_message();
    message.routing_key = message.type = message.message_id = message.app_id = std::string(255, 'x');
    message.headers[0].first = std::string(128, 'x');
    message.body = std::string(body_max, 'x');
    EXPECT_EQ(unfit_for(message, frame_max, body_max), "");
}

TEST(AmqpContent, EachLimitHasItsReason)
{
    const std::string long_text(256, 'x');
    const auto reason = [](auto &&change) {
        Message message = whole_message();
        change(message);
        return unfit_for(message, frame_max, body_max);
    };
    EXPECT_EQ(reason([&](Message &m) { m.routing_key = long_text; }),
              "routing key of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.type = long_text; }), "message type of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.message_id = long_text; }),
              "message id of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.app_id = long_text; }),
              "application id of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.content_type = long_text; }),
              "content type of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.correlation_id = long_text; }),
              "correlation id of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.expiration = long_text; }),
              "expiration of 256 bytes is longer than 255 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.headers[0].first = std::string(129, 'x'); }),
              "header name of 129 bytes is longer than 128 bytes");
    EXPECT_EQ(reason([&](Message &m) { m.body = std::string(body_max + 1, 'x'); }),
              "body of 1001 bytes is longer than 1000 bytes");
}

TEST(AmqpContent, HeadersMustFitIntoOneFrame)
{
    Message message = whole_message();
    auto &text = std::get<std::string>(message.headers[0].second);
    text += std::string(frame_max - header_frame_size(message), 'x');
    EXPECT_EQ(unfit_for(message, frame_max, body_max), "");
    EXPECT_EQ(encoded_size(message), frame_max);
    text += 'x';
    EXPECT_EQ(unfit_for(message, frame_max, body_max),
              "headers and properties of 131073 bytes do not fit into a frame of 131072 bytes");
}

} // namespace
} // namespace outbox::transport
