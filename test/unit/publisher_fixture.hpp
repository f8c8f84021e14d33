// What the tests of the publisher share: messages, and a loop like a lane's with a limit.
#pragma once

#include "fake_broker.hpp"
#include "transport/amqp_publisher.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

namespace outbox::test {

using namespace std::chrono_literals;

class PublisherTest : public testing::Test {
  protected:
    // Connected to the first endpoint.
    class AmqpPublisher : public transport::AmqpPublisher {
      public:
        explicit AmqpPublisher(const transport::Target &to) : transport::AmqpPublisher(to, to.url.endpoints.front()) {}
    };
    using Clock = transport::Clock;
    using Error = transport::Error;
    using Message = transport::Message;
    using Outcome = transport::Outcome;

    static Message message(const std::string &id, std::size_t size = 800)
    {
        Message made;
        made.routing_key = "issue.created";
        made.message_id = id;
        made.type = "issue.created";
        made.content_type = "application/json";
        made.timestamp = 1764547200;
        made.headers = {{"outbox-id", std::int64_t{42}}, {"entity-type", std::string("issues")}};
        made.body = std::string(size, 'x');
        return made;
    }

    static transport::Target target(const FakeBroker &broker)
    {
        transport::Target made;
        made.url.endpoints = {{"127.0.0.1", broker.port()}};
        made.exchange = "outbox";
        made.connection_name = "unit test";
        made.heartbeat = 1s;
        return made;
    }

    // Advances as a lane does, until done() or until it fails or takes too long.
    template <typename Done>
    bool drive(AmqpPublisher &publisher, Done &&done, std::chrono::milliseconds limit = 5s)
    {
        const auto deadline = Clock::now() + limit;
        for (;;) {
            const auto before = Clock::now();
            publisher.advance([this](const Outcome &outcome) { outcomes_.push_back(outcome); });
            publisher.flush();
            longest_turn_ = std::max(longest_turn_, Clock::now() - before);
            if (done())
                return true;
            if (Clock::now() >= deadline)
                return false;
            pollfd wanted{publisher.socket(), POLLIN, 0};
            if (publisher.wants_write())
                wanted.events |= POLLOUT;
            ::poll(&wanted, 1, 20);
        }
    }

    bool drive_until_answered(AmqpPublisher &publisher, std::chrono::milliseconds limit = 5s)
    {
        return drive(
            publisher, [&] { return publisher.in_flight() == 0; }, limit);
    }

    // Drives until the publisher throws; its error.
    std::unique_ptr<Error> drive_until_error(AmqpPublisher &publisher, std::chrono::milliseconds limit = 5s)
    {
        try {
            drive(
                publisher, [] { return false; }, limit);
        } catch (const Error &error) {
            return std::make_unique<Error>(error);
        }
        return nullptr;
    }

    // "1:confirmed 2:refused", in the order of the outcomes.
    std::string answered() const
    {
        std::string text;
        for (const Outcome &outcome : outcomes_) {
            text += (text.empty() ? "" : " ") + std::to_string(outcome.token);
            text += outcome.kind == Outcome::Kind::confirmed  ? ":confirmed"
                    : outcome.kind == Outcome::Kind::returned ? ":returned"
                                                              : ":refused";
        }
        return text;
    }

    // Nothing in the publisher may wait; a loaded machine may be slow.
    void expect_no_turn_waited() const { EXPECT_LT(longest_turn_, 500ms); }

    std::vector<Outcome> outcomes_;
    Clock::duration longest_turn_{0};
};

} // namespace outbox::test
