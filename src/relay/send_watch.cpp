#include "relay/send_watch.hpp"

#include "pg/guard.hpp"

extern "C" {
#include "utils/timeout.h"
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

constexpr int tick = 500;        // milliseconds
constexpr int ticks_allowed = 3; // a send that lasts this long hangs

// Read and written by the timer's handler, which runs in signal context.
const transport::AmqpPublisher *volatile watched = nullptr;
volatile std::sig_atomic_t sending = 0;
volatile std::sig_atomic_t ticks = 0;

void on_tick()
{
    if (sending == 0 || watched == nullptr)
        return;
    ticks = ticks + 1;
    if (ticks >= ticks_allowed)
        watched->interrupt();
}

TimeoutId timer_id()
{
    static const TimeoutId id = pg::call([] { return RegisterTimeout(USER_TIMEOUT, on_tick); });
    return id;
}

} // namespace

SendWatch::SendWatch(const transport::AmqpPublisher &publisher)
{
    const TimeoutId id = timer_id();
    watched = &publisher;
    pg::call([&] { enable_timeout_every(id, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), tick), tick); });
}

SendWatch::~SendWatch()
{
    disable_timeout(timer_id(), false); // raises nothing
    watched = nullptr;
}

SendWatch::Guard::Guard()
{
    ticks = 0;
    sending = 1;
}

SendWatch::Guard::~Guard()
{
    sending = 0;
}

} // namespace outbox::relay
