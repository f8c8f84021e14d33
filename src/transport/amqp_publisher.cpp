// The publisher over librabbitmq's frames: MessageSender sends, this file reads what the broker answers.
//
// Reading asks for frames with no time to wait. librabbitmq sends and checks heartbeats while it is asked for frames,
// so advance() must be called at least every second or so, also while nothing is in flight.
#include "transport/amqp_publisher.hpp"

#include "transport/amqp_content.hpp"
#include "transport/amqp_session.hpp"
#include "transport/in_flight.hpp"
#include "transport/message_sender.hpp"

#include <algorithm>

#include <sys/socket.h>
#include <sys/time.h>

namespace outbox::transport {
namespace {

// Answered messages behind one that is not still cost memory: above this the publisher waits for that one.
constexpr std::size_t max_span = 262144;

// librabbitmq keeps what it has decoded until it is told that nobody looks at it any more.
constexpr int frames_between_releases = 64;

// basic.return is followed by the content that comes back with it.
struct Returning {
    enum class Next { nothing, header, body };
    Next next = Next::nothing;
    std::uint16_t code = 0;
    std::string text;
    std::string routing_key;
    std::uint64_t body_left = 0;
};

} // namespace

struct AmqpPublisher::Impl {
    using Sink = std::function<void(const Outcome &)>;

    Impl(const Target &target, const Endpoint &endpoint)
        : max_message_size(target.max_message_size), session(open_session(target, endpoint)),
          sender(state(), target.exchange)
    {
    }

    amqp_connection_state_t state() const { return session.connection.get(); }

    void read(const Sink &sink);
    void on_method(const amqp_method_t &method, const Sink &sink);
    void on_return(const amqp_basic_return_t &method);
    void on_returned_header(const amqp_frame_t &frame);
    void on_returned_body(const amqp_frame_t &frame);
    void on_answer(std::uint64_t tag, bool multiple, Outcome::Kind kind, const Sink &sink);
    void on_blocked(const amqp_connection_blocked_t &method);
    void on_unblocked();
    [[noreturn]] void on_channel_close(const amqp_channel_close_t &method) const;
    [[noreturn]] void on_connection_close(const amqp_connection_close_t &method) const;

    Clock::duration blocked_until(Clock::time_point now) const
    {
        return is_blocked ? blocked_total + (now - blocked_since) : blocked_total;
    }

    std::size_t max_message_size;
    OpenSession session;
    MessageSender sender;
    InFlight in_flight;
    Returning returning;
    bool is_blocked = false;
    std::string blocked_reason;
    Clock::time_point blocked_since;
    Clock::duration blocked_total{0};
};

void AmqpPublisher::Impl::read(const Sink &sink)
{
    const timeval no_time{0, 0};
    for (int frames = 1;; ++frames) {
        amqp_frame_t frame;
        const int status = amqp_simple_wait_frame_noblock(state(), &frame, &no_time);
        if (status == AMQP_STATUS_TIMEOUT)
            break;
        if (status != AMQP_STATUS_OK)
            throw_lost(status);
        if (frame.frame_type == AMQP_FRAME_METHOD)
            on_method(frame.payload.method, sink);
        else if (frame.frame_type == AMQP_FRAME_HEADER)
            on_returned_header(frame);
        else if (frame.frame_type == AMQP_FRAME_BODY)
            on_returned_body(frame);
        if (frames % frames_between_releases == 0)
            amqp_maybe_release_buffers(state());
    }
    amqp_maybe_release_buffers(state());
}

void AmqpPublisher::Impl::on_method(const amqp_method_t &method, const Sink &sink)
{
    switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
        const auto &ack = *static_cast<const amqp_basic_ack_t *>(method.decoded);
        on_answer(ack.delivery_tag, ack.multiple != 0, Outcome::Kind::confirmed, sink);
        break;
    }
    case AMQP_BASIC_NACK_METHOD: {
        const auto &nack = *static_cast<const amqp_basic_nack_t *>(method.decoded);
        on_answer(nack.delivery_tag, nack.multiple != 0, Outcome::Kind::refused, sink);
        break;
    }
    case AMQP_BASIC_RETURN_METHOD:
        on_return(*static_cast<const amqp_basic_return_t *>(method.decoded));
        break;
    case AMQP_CONNECTION_BLOCKED_METHOD:
        on_blocked(*static_cast<const amqp_connection_blocked_t *>(method.decoded));
        break;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        on_unblocked();
        break;
    case AMQP_CHANNEL_CLOSE_METHOD:
        on_channel_close(*static_cast<const amqp_channel_close_t *>(method.decoded));
    case AMQP_CONNECTION_CLOSE_METHOD:
        on_connection_close(*static_cast<const amqp_connection_close_t *>(method.decoded));
    default:
        throw Error(Error::Kind::lost,
                    "broker sent a method that was not expected: " + std::string(amqp_method_name(method.id)));
    }
}

void AmqpPublisher::Impl::on_return(const amqp_basic_return_t &method)
{
    returning.next = Returning::Next::header;
    returning.code = method.reply_code;
    returning.text = as_view(method.reply_text);
    returning.routing_key = as_view(method.routing_key);
}

void AmqpPublisher::Impl::on_returned_header(const amqp_frame_t &frame)
{
    if (returning.next != Returning::Next::header)
        throw Error(Error::Kind::lost, "broker sent a content header that was not expected");
    const auto &properties = *static_cast<const amqp_basic_properties_t *>(frame.payload.properties.decoded);
    const bool has_id = (properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0;
    InFlight::Entry *entry =
        in_flight.match_return(has_id ? as_view(properties.message_id) : std::string_view(), returning.routing_key);
    // Passing over it could take an unroutable message for a confirmed one; reconnecting loses nothing.
    if (entry == nullptr)
        throw Error(Error::Kind::lost, "broker returned a message that is not in flight");
    entry->returned = std::make_unique<InFlight::Return>(InFlight::Return{returning.code, std::move(returning.text)});
    returning.body_left = frame.payload.properties.body_size;
    returning.next = returning.body_left > 0 ? Returning::Next::body : Returning::Next::nothing;
}

void AmqpPublisher::Impl::on_returned_body(const amqp_frame_t &frame)
{
    const std::size_t size = frame.payload.body_fragment.len;
    if (returning.next != Returning::Next::body || size > returning.body_left)
        throw Error(Error::Kind::lost, "broker sent a body frame that was not expected");
    returning.body_left -= size;
    if (returning.body_left == 0)
        returning.next = Returning::Next::nothing;
}

void AmqpPublisher::Impl::on_answer(std::uint64_t tag, bool multiple, Outcome::Kind kind, const Sink &sink)
{
    // A message that is still being sent can not have been answered: its owner would free it under the send.
    if (tag == 0 || tag + (sender.half_sent() ? 1 : 0) > in_flight.newest_tag())
        throw Error(Error::Kind::lost, "broker answered message " + std::to_string(tag) + ", which was not sent");
    const Clock::time_point now = Clock::now();
    in_flight.answer(tag, multiple, [&](InFlight::Entry &entry) {
        Outcome outcome{kind, entry.token, now - entry.published, 0, {}};
        if (entry.returned && kind == Outcome::Kind::confirmed) {
            outcome.kind = Outcome::Kind::returned;
            outcome.reply_code = entry.returned->code;
            outcome.reply_text = std::move(entry.returned->text);
        }
        sink(outcome);
    });
}

void AmqpPublisher::Impl::on_blocked(const amqp_connection_blocked_t &method)
{
    if (!is_blocked)
        blocked_since = Clock::now();
    is_blocked = true;
    blocked_reason = as_view(method.reason);
}

void AmqpPublisher::Impl::on_unblocked()
{
    blocked_total = blocked_until(Clock::now());
    is_blocked = false;
    blocked_reason.clear();
}

// The answers below are for the broker's log only: whether they arrive makes no difference.
void AmqpPublisher::Impl::on_channel_close(const amqp_channel_close_t &method) const
{
    const std::string text = broker_text(method.reply_code, method.reply_text);
    amqp_channel_close_ok_t answer{};
    static_cast<void>(amqp_send_method(state(), publish_channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &answer));
    throw Error(Error::Kind::closed, "broker closed the channel: " + text);
}

void AmqpPublisher::Impl::on_connection_close(const amqp_connection_close_t &method) const
{
    const std::string text = broker_text(method.reply_code, method.reply_text);
    amqp_connection_close_ok_t answer{};
    static_cast<void>(amqp_send_method(state(), 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &answer));
    throw Error(Error::Kind::closed, "broker closed the connection: " + text);
}

AmqpPublisher::AmqpPublisher(const Target &target, const Endpoint &endpoint)
    : impl_(std::make_unique<Impl>(target, endpoint))
{
}

AmqpPublisher::~AmqpPublisher() = default;

int AmqpPublisher::socket() const
{
    return amqp_get_sockfd(impl_->state());
}

Lease AmqpPublisher::lease() const
{
    return impl_->session.lease;
}

std::string AmqpPublisher::unfit_reason(const Message &message) const
{
    return unfit_for(message, impl_->sender.frame_max(), impl_->max_message_size);
}

bool AmqpPublisher::ready()
{
    return !impl_->is_blocked && impl_->in_flight.span() < max_span && impl_->sender.ready();
}

void AmqpPublisher::publish(const Message &message, Token token)
{
    const Clock::time_point now = Clock::now();
    impl_->in_flight.add(message, token, now, impl_->blocked_until(now));
    impl_->sender.begin(message);
}

void AmqpPublisher::advance(const std::function<void(const Outcome &)> &sink)
{
    impl_->read(sink);
    impl_->sender.send_on();
}

void AmqpPublisher::flush()
{
    impl_->sender.flush();
}

bool AmqpPublisher::wants_write() const
{
    return impl_->sender.wants_write();
}

bool AmqpPublisher::blocked() const
{
    return impl_->is_blocked;
}

const std::string &AmqpPublisher::blocked_reason() const
{
    return impl_->blocked_reason;
}

std::size_t AmqpPublisher::in_flight() const
{
    return impl_->in_flight.size();
}

Clock::time_point AmqpPublisher::oldest_in_flight() const
{
    if (impl_->in_flight.empty())
        return Clock::time_point::max();
    const InFlight::Entry &oldest = impl_->in_flight.oldest();
    return oldest.published + (impl_->blocked_until(Clock::now()) - oldest.blocked_before);
}

void AmqpPublisher::close(std::chrono::milliseconds limit) noexcept
{
    flush();
    using std::chrono::microseconds;
    const auto wait = std::max(microseconds(1000), std::chrono::duration_cast<microseconds>(limit));
    const timeval timeout{wait.count() / 1000000, wait.count() % 1000000};
    // The connection, not the channel: that is allowed in the middle of a message, too.
    if (amqp_set_rpc_timeout(impl_->state(), &timeout) == AMQP_STATUS_OK)
        static_cast<void>(amqp_connection_close(impl_->state(), AMQP_REPLY_SUCCESS));
}

void AmqpPublisher::interrupt() const noexcept
{
    // Asked anew each time: librabbitmq closes the socket of a dead connection, and the number may then be another's.
    const int fd = amqp_get_sockfd(impl_->state());
    if (fd >= 0)
        ::shutdown(fd, SHUT_RDWR);
}

} // namespace outbox::transport
