// What a publisher costs that does nothing but publish: librabbitmq's own amqp_basic_publish(), one channel in
// confirm mode, persistent and mandatory messages with the properties and headers of the relay's, a window of
// messages in flight. The relay's drain speed is measured against it.
//
//   bare_publisher --url amqp://guest:guest@127.0.0.1:5672 --exchange outbox --count 100000 --size 800 --window 4096
//
// Prints one JSON object: messages per second, and microseconds of its own CPU time per message. With --rate it
// publishes so many messages a second instead of as fast as it can, numbers them by their message_id from 0 on, and
// prints when each was published, in microseconds since 1970.
#include "amqp_client.hpp"

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <getopt.h>
#include <sys/resource.h>

namespace {

using namespace outbox::transport;

struct Options {
    std::string url = "amqp://guest:guest@127.0.0.1:5672";
    std::string exchange = "outbox";
    std::string routing_key = "bench.created";
    std::uint64_t count = 100000;
    std::size_t size = 800;
    std::uint64_t window = 4096;
    std::uint64_t rate = 0; // messages per second; 0: as fast as it can
};

Options parse_options(int argc, char **argv)
{
    static const option known[] = {
        {"url", required_argument, nullptr, 'u'},         {"exchange", required_argument, nullptr, 'e'},
        {"routing-key", required_argument, nullptr, 'k'}, {"count", required_argument, nullptr, 'n'},
        {"size", required_argument, nullptr, 's'},        {"window", required_argument, nullptr, 'w'},
        {"rate", required_argument, nullptr, 'r'},        {nullptr, 0, nullptr, 0},
    };
    Options options;
    for (int c = 0; (c = getopt_long(argc, argv, "u:e:k:n:s:w:r:", known, nullptr)) != -1;) {
        switch (c) {
        case 'u':
            options.url = optarg;
            break;
        case 'e':
            options.exchange = optarg;
            break;
        case 'k':
            options.routing_key = optarg;
            break;
        case 'n':
            options.count = std::stoull(optarg);
            break;
        case 's':
            options.size = std::stoull(optarg);
            break;
        case 'w':
            options.window = std::stoull(optarg);
            break;
        case 'r':
            options.rate = std::stoull(optarg);
            break;
        default:
            throw std::invalid_argument("usage: bare_publisher [--url URL] [--exchange NAME] [--routing-key KEY]"
                                        " [--count N] [--size BYTES] [--window N] [--rate N]");
        }
    }
    return options;
}

amqp_table_entry_t text_header(const char *name, const char *value)
{
    amqp_table_entry_t entry{};
    entry.key = amqp_cstring_bytes(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_cstring_bytes(value);
    return entry;
}

amqp_table_entry_t number_header(const char *name, std::int64_t value)
{
    amqp_table_entry_t entry{};
    entry.key = amqp_cstring_bytes(name);
    entry.value.kind = AMQP_FIELD_KIND_I64;
    entry.value.value.i64 = value;
    return entry;
}

class Publisher {
  public:
    explicit Publisher(const Options &options)
        : options_(options), connection_(bench::connect(options.url)), body_(options.size, 'x'),
          is_answered_(options.count + 1)
    {
        amqp_confirm_select(connection_.get(), publish_channel);
        bench::require(amqp_get_rpc_reply(connection_.get()), "confirm.select");
        properties_._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG |
                             AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG;
        properties_.delivery_mode = 2;
        properties_.message_id = amqp_cstring_bytes("01928f4e-7a2b-7c3d-8e4f-5a6b7c8d9e0f");
        properties_.type = as_bytes(options_.routing_key);
        properties_.timestamp = 1764547200;
        properties_.content_type = amqp_cstring_bytes("application/json");
        properties_.headers = {static_cast<int>(headers_.size()), headers_.data()};
    }

    void run_at_rate()
    {
        const std::int64_t interval = 1'000'000 / static_cast<std::int64_t>(options_.rate);
        const std::int64_t start = bench::wall_clock();
        while (answered_ < options_.count) {
            const std::int64_t due = start + static_cast<std::int64_t>(published_) * interval;
            const std::int64_t wait = due - bench::wall_clock();
            if (published_ < options_.count && wait <= 0) {
                const std::string number = std::to_string(published_);
                properties_.message_id = as_bytes(number);
                published_at_.push_back(bench::wall_clock());
                publish();
                continue;
            }
            const std::int64_t patience = published_ < options_.count ? wait : 1'000'000;
            timeval timeout{patience / 1'000'000, patience % 1'000'000};
            read_answer(&timeout);
        }
    }

    void run()
    {
        while (answered_ < options_.count) {
            if (published_ < options_.count && published_ - answered_ < options_.window)
                publish();
            else
                read_answer(nullptr);
            // As the relay does: take what has arrived between messages, without waiting.
            static timeval no_time{0, 0};
            if (published_ % 128 == 0)
                while (read_answer(&no_time))
                    continue;
        }
    }

    std::uint64_t refused() const { return refused_; }
    std::uint64_t returned() const { return returned_; }
    const std::vector<std::int64_t> &published_at() const { return published_at_; }

  private:
    void publish()
    {
        bench::require(amqp_basic_publish(connection_.get(), publish_channel, as_bytes(options_.exchange),
                                          as_bytes(options_.routing_key), 1 /* mandatory */, 0, &properties_,
                                          as_bytes(body_)),
                       "basic.publish");
        ++published_;
    }

    // False: nothing has arrived within the timeout.
    bool read_answer(timeval *timeout)
    {
        amqp_frame_t frame;
        const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, timeout);
        if (status == AMQP_STATUS_TIMEOUT)
            return false;
        bench::require(status, "read");
        if (frame.frame_type != AMQP_FRAME_METHOD)
            return true;
        switch (frame.payload.method.id) {
        case AMQP_BASIC_ACK_METHOD: {
            const auto *ack = static_cast<const amqp_basic_ack_t *>(frame.payload.method.decoded);
            count_answers(ack->delivery_tag, ack->multiple != 0);
            break;
        }
        case AMQP_BASIC_NACK_METHOD: {
            const auto *nack = static_cast<const amqp_basic_nack_t *>(frame.payload.method.decoded);
            refused_ += count_answers(nack->delivery_tag, nack->multiple != 0);
            break;
        }
        case AMQP_BASIC_RETURN_METHOD:
            ++returned_;
            break;
        default:
            throw std::runtime_error(std::string("broker sent ") + amqp_method_name(frame.payload.method.id));
        }
        amqp_maybe_release_buffers(connection_.get());
        return true;
    }

    // Returns how many messages it answers: answers come singly, in any order, or for all up to a tag.
    std::uint64_t count_answers(std::uint64_t tag, bool multiple)
    {
        std::uint64_t count = 0;
        for (std::uint64_t each = multiple ? next_unanswered_ : tag; each <= tag; ++each) {
            count += is_answered_[each] ? 0 : 1;
            is_answered_[each] = true;
        }
        while (next_unanswered_ <= options_.count && is_answered_[next_unanswered_])
            ++next_unanswered_;
        answered_ += count;
        return count;
    }

    Options options_;
    Connection connection_;
    std::string body_;
    std::array<amqp_table_entry_t, 8> headers_{
        number_header("outbox-id", 1764547200000000),
        text_header("outbox-epoch", "7455555555555555555/1"),
        number_header("created-at", 1764547200000),
        text_header("entity-type", "issues"),
        text_header("entity-id", "01928f4e-7a2b-7c3d-8e4f-5a6b7c8d9e0f"),
        text_header("workspace-id", "01928f4e-7a2b-7c3d-8e4f-5a6b7c8d9e0f"),
        text_header("project-id", "01928f4e-7a2b-7c3d-8e4f-5a6b7c8d9e0f"),
        text_header("initiator-type", "USER"),
    };
    amqp_basic_properties_t properties_{};
    std::vector<bool> is_answered_; // by delivery tag
    std::vector<std::int64_t> published_at_;
    std::uint64_t next_unanswered_ = 1;
    std::uint64_t published_ = 0;
    std::uint64_t answered_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t returned_ = 0;
};

double cpu_seconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        const Options options = parse_options(argc, argv);
        Publisher publisher(options);
        const double cpu_before = cpu_seconds();
        const auto start = std::chrono::steady_clock::now();
        options.rate ? publisher.run_at_rate() : publisher.run();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const double cpu = cpu_seconds() - cpu_before;
        const auto count = static_cast<double>(options.count);
        std::printf("{\"messages\": %llu, \"body_bytes\": %zu, \"window\": %llu, \"seconds\": %.3f,"
                    " \"messages_per_second\": %.0f, \"cpu_us_per_message\": %.2f, \"refused\": %llu,"
                    " \"returned\": %llu, \"published_at\": [",
                    static_cast<unsigned long long>(options.count), options.size,
                    static_cast<unsigned long long>(options.window), seconds, count / seconds, cpu * 1e6 / count,
                    static_cast<unsigned long long>(publisher.refused()),
                    static_cast<unsigned long long>(publisher.returned()));
        for (const char *comma = ""; const std::int64_t at : publisher.published_at())
            std::printf("%s%" PRId64, std::exchange(comma, ", "), at);
        std::puts("]}");
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "bare_publisher: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
