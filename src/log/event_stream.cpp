#include "log/event_stream.hpp"

#include "log/commit_lsn.hpp"
#include "log/event_row.hpp"

extern "C" {
#include "utils/memutils.h"
}

namespace outbox::log {

namespace {

// The executor hands its rows to this.
struct Receiver {
    DestReceiver base; // first: the server casts
    StreamLimits limits;
    Show show;
    void *context;
    MemoryContext row_memory; // of one row
    StreamResult result;
    std::size_t bytes;
    std::uint64_t last_xid;
};
static_assert(std::is_trivially_destructible_v<Receiver> && std::is_trivially_destructible_v<EventView>);

void note_transaction(Receiver *receiver, FullTransactionId xid)
{
    if (U64FromFullTransactionId(xid) == receiver->last_xid)
        return;
    receiver->last_xid = U64FromFullTransactionId(xid);
    receiver->result.flush_to = std::max(receiver->result.flush_to, commit_lsn(xid));
}

bool receive(TupleTableSlot *slot, DestReceiver *self)
{
    auto *receiver = reinterpret_cast<Receiver *>(self);
    StreamResult *result = &receiver->result;

    const std::size_t size = row_payload_size(slot);
    if (result->shown > 0 && receiver->bytes + size > receiver->limits.bytes) {
        result->limited = true;
        return false;
    }
    // A lane's position is the last id read: out of order, it would pass over events.
    const EventId id = row_id(slot);
    if (result->shown > 0 && id <= result->last)
        elog(ERROR, "event " INT64_FORMAT " was read behind event " INT64_FORMAT, id.value, result->last.value);

    MemoryContextReset(receiver->row_memory);
    MemoryContext caller = MemoryContextSwitchTo(receiver->row_memory);
    note_transaction(receiver, row_xid(slot));
    const EventView event = row_event(slot);
    MemoryContextSwitchTo(caller);
    if (!receiver->show(receiver->context, event))
        return false;

    receiver->bytes += size;
    result->last = id;
    result->limited = ++result->shown >= receiver->limits.rows;
    return true;
}

Receiver make_receiver(const StreamLimits &limits, Show show, void *context)
{
    Receiver receiver{};
    receiver.base.receiveSlot = receive;
    receiver.base.rStartup = [](DestReceiver *, int, TupleDesc) {};
    receiver.base.rShutdown = [](DestReceiver *) {};
    receiver.base.rDestroy = [](DestReceiver *) {};
    receiver.base.mydest = DestNone; // none of the server's own
    receiver.limits = limits;
    receiver.show = show;
    receiver.context = context;
    receiver.row_memory = AllocSetContextCreate(CurrentMemoryContext, "outbox event row", ALLOCSET_DEFAULT_SIZES);
    return receiver;
}

} // namespace

StreamResult stream_events(SPIPlanPtr plan, ParamListInfo parameters, const StreamLimits &limits, Show show,
                           void *context)
{
    Receiver receiver = make_receiver(limits, show, context);
    SPIExecuteOptions options{};
    options.params = parameters;
    options.read_only = true; // in the active snapshot
    options.dest = &receiver.base;
    const int code = SPI_execute_plan_extended(plan, &options);
    if (code < 0)
        elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(code));
    return receiver.result;
}

} // namespace outbox::log
