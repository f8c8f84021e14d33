// Writing an event costs what the row itself costs: no SPI, no executor, no plan. The row goes into the slice's
// table and indexes as the executor would put it there, but for what a row of ours can do without: triggers (they
// refuse everybody else), privileges, and constraints, which hold by construction.
#include "log/append.hpp"

#include "log/clock.hpp"
#include "log/event_id.hpp"
#include "log/insert.hpp"
#include "log/write_target.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"
}

namespace outbox::log {

void (*on_events_committed)();

namespace {

bool wrote_events; // in the current transaction

// After the commit: an error in here would come too late.
void on_transaction_end(XactEvent event, void *)
{
    switch (event) {
    case XACT_EVENT_COMMIT:
        if (wrote_events && on_events_committed != nullptr)
            on_events_committed();
        wrote_events = false;
        break;
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PREPARE:
        wrote_events = false;
        break;
    default:
        break;
    }
}

void note_events_written()
{
    static bool registered = false;
    if (!registered) {
        RegisterXactCallback(on_transaction_end, nullptr);
        registered = true;
    }
    wrote_events = true;
}

void require_writable()
{
    pg::require_preload();
    if (RecoveryInProgress())
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION), errmsg("cannot write events during recovery"),
                errdetail("This server is a standby."), errhint("Write to the primary server."));
    if (XactReadOnly)
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot write events in a read-only transaction"),
                errdetail("Every captured change writes a row into the log of events."),
                errhint("Make the change in a transaction that is READ WRITE."));
    if (IsInParallelMode())
        ereport(ERROR, errcode(ERRCODE_INVALID_TRANSACTION_STATE),
                errmsg("cannot write events during a parallel operation"), errdetail("Parallel workers cannot write."),
                errhint("Mark the function that writes events PARALLEL UNSAFE."));
}

// Reading the server's source of randomness costs as much as the rest of an event: it is read ahead.
std::uint64_t random_bits()
{
    static std::array<std::uint64_t, 64> ahead;
    static std::size_t left = 0;
    if (left == 0) {
        if (!pg_strong_random(ahead.data(), sizeof(ahead)))
            ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values"));
        left = ahead.size();
    }
    return ahead[--left];
}

pg_uuid_t event_id_of(const NewEvent &event, EventId id)
{
    if (event.event_id != nullptr)
        return *event.event_id;
    const Uuid uuid = uuid_of(id, random_bits());
    pg_uuid_t result;
    static_assert(sizeof(result.data) == sizeof(uuid));
    std::memcpy(result.data, uuid.data(), sizeof(result.data));
    return result;
}

class Row {
  public:
    explicit Row(const WriteTarget &target) : target_(target), slot_(target.slot)
    {
        ExecClearTuple(slot_);
        std::memset(slot_->tts_isnull, true, slot_->tts_tupleDescriptor->natts);
        std::memset(slot_->tts_values, 0, sizeof(Datum) * slot_->tts_tupleDescriptor->natts);
    }

    void set(Column column, Datum value)
    {
        const AttrNumber number = target_.attribute[static_cast<int>(column)];
        if (number == InvalidAttrNumber)
            return;
        slot_->tts_values[number - 1] = value;
        slot_->tts_isnull[number - 1] = false;
    }

    void set(Column column, const void *value)
    {
        if (value != nullptr)
            set(column, PointerGetDatum(value));
    }

    TupleTableSlot *store() { return ExecStoreVirtualTuple(slot_); }

  private:
    const WriteTarget &target_;
    TupleTableSlot *slot_;
};

TupleTableSlot *form_row(const WriteTarget &target, const NewEvent &event, EventId id, const pg_uuid_t &event_id)
{
    Row row(target);
    row.set(Column::id, Int64GetDatum(id.value));
    row.set(Column::xid, FullTransactionIdGetDatum(GetTopFullTransactionId()));
    row.set(Column::slice, Int16GetDatum(target.slice));
    row.set(Column::event_id, UUIDPGetDatum(&event_id));
    row.set(Column::event_type, event.event_type);
    row.set(Column::entity_type, event.entity_type);
    row.set(Column::entity_id, event.entity_id);
    row.set(Column::ordering_key, event.ordering_key);
    row.set(Column::payload, event.payload);
    row.set(Column::workspace_id, event.workspace_id);
    row.set(Column::project_id, event.project_id);
    row.set(Column::initiator_id, event.initiator_id);
    row.set(Column::initiator_type,
            event.initiator_type != nullptr ? event.initiator_type : target.default_initiator_type);
    row.set(Column::schema_version, event.schema_version);
    row.set(Column::headers, event.headers);
    row.set(Column::created_at, TimestampTzGetDatum(GetCurrentTimestamp()));
    return row.store();
}

void insert_into_indexes(const WriteTarget &target, Relation slice, TupleTableSlot *row)
{
    for (int i = 0; i < target.index_count; i++) {
        Relation index = index_open(target.indexes[i], NoLock);
        insert_into_index(slice, index, target.index_infos[i], row);
        index_close(index, NoLock);
    }
}

EventId next_id()
{
    GetTopFullTransactionId();
    return tick();
}

} // namespace

EventId take_id()
{
    require_writable();
    write_target(); // raises the clock, the first time
    return next_id();
}

EventId append(const NewEvent &event, pg_uuid_t *event_id_out)
{
    require_writable();
    const WriteTarget *target = nullptr;
    Relation slice = open_write_target(&target);
    const EventId id = event.id.value != 0 ? event.id : next_id();
    const pg_uuid_t event_id = event_id_of(event, id);

    TupleTableSlot *row = form_row(*target, event, id, event_id);
    table_tuple_insert(slice, row, GetCurrentCommandId(true), 0, nullptr);
    insert_into_indexes(*target, slice, row);
    ExecClearTuple(row);
    table_close(slice, NoLock);

    note_events_written();
    if (event_id_out != nullptr)
        *event_id_out = event_id;
    return id;
}

} // namespace outbox::log
