// When messages arrive at a consumer that does nothing else: librabbitmq's own calls, no acknowledgements.
//
//   bare_consumer --url amqp://guest:guest@127.0.0.1:5672 --queue bench --count 1000
//
// Prints "ready" once it consumes, then for each message its message_id and when it arrived, in microseconds since
// 1970.
#include "amqp_client.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <getopt.h>

namespace {

using namespace outbox::transport;

struct Options {
    std::string url = "amqp://guest:guest@127.0.0.1:5672";
    std::string queue;
    std::uint64_t count = 1000;
};

Options parse_options(int argc, char **argv)
{
    static const option known[] = {
        {"url", required_argument, nullptr, 'u'},
        {"queue", required_argument, nullptr, 'q'},
        {"count", required_argument, nullptr, 'n'},
        {nullptr, 0, nullptr, 0},
    };
    Options options;
    for (int c = 0; (c = getopt_long(argc, argv, "u:q:n:", known, nullptr)) != -1;) {
        switch (c) {
        case 'u':
            options.url = optarg;
            break;
        case 'q':
            options.queue = optarg;
            break;
        case 'n':
            options.count = std::stoull(optarg);
            break;
        default:
            throw std::invalid_argument("usage: bare_consumer [--url URL] --queue NAME [--count N]");
        }
    }
    return options;
}

using Arrival = std::pair<std::string, std::int64_t>;

std::vector<Arrival> consume(const Options &options)
{
    const Connection connection = bench::connect(options.url);
    amqp_basic_consume(connection.get(), publish_channel, as_bytes(options.queue), amqp_empty_bytes, 0 /* no_local */,
                       1 /* no_ack */, 0 /* exclusive */, amqp_empty_table);
    bench::require(amqp_get_rpc_reply(connection.get()), "basic.consume");
    std::puts("ready");
    std::fflush(stdout);

    std::vector<Arrival> arrivals;
    while (arrivals.size() < options.count) {
        timeval patience{30, 0};
        amqp_envelope_t envelope;
        amqp_maybe_release_buffers(connection.get());
        bench::require(amqp_consume_message(connection.get(), &envelope, &patience, 0), "basic.deliver");
        arrivals.emplace_back(as_view(envelope.message.properties.message_id), bench::wall_clock());
        amqp_destroy_envelope(&envelope);
    }
    return arrivals;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        for (const auto &[message_id, arrived] : consume(parse_options(argc, argv)))
            std::printf("%s %" PRId64 "\n", message_id.c_str(), arrived);
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "bare_consumer: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
