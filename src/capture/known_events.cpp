#include "capture/known_events.hpp"

#include "log/log_owner.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"
}

namespace outbox::capture {

namespace {

constexpr long rows_at_a_time = 1000;

// Two hashes of an entity's id: as good as the id, and small.
struct EntityKey {
    std::uint64_t hashes[2];
};

struct Latest {
    EntityKey key; // must come first
    std::int64_t id;
    TimestampTz created_at;
};

EntityKey key_of(const text *entity_id)
{
    EntityKey key{};
    for (std::uint64_t seed = 0; seed < std::size(key.hashes); seed++)
        key.hashes[seed] = hash_bytes_extended(reinterpret_cast<const unsigned char *>(VARDATA_ANY(entity_id)),
                                               static_cast<int>(VARSIZE_ANY_EXHDR(entity_id)), seed);
    return key;
}

const Latest *find(const KnownEvents &known, const text *entity_id)
{
    const EntityKey key = key_of(entity_id);
    return static_cast<const Latest *>(hash_search(known.latest, &key, HASH_FIND, nullptr));
}

Datum value(HeapTuple row, int column)
{
    bool is_null = false;
    return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
}

// Before the events are read: what has not committed by now may be missing among them.
FullTransactionId read_oldest_unseen()
{
    if (SPI_execute("SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())", false, 1) !=
            SPI_OK_SELECT ||
        SPI_processed != 1)
        elog(ERROR, "could not read the current snapshot");
    return DatumGetFullTransactionId(value(SPI_tuptable->vals[0], 1));
}

void remember(HTAB *latest, HeapTuple row)
{
    const EntityKey key = key_of(DatumGetTextPP(value(row, 1)));
    auto *entry = static_cast<Latest *>(hash_search(latest, &key, HASH_ENTER, nullptr));
    entry->id = DatumGetInt64(value(row, 2));
    entry->created_at = DatumGetTimestampTz(value(row, 3));
}

} // namespace

KnownEvents read_known_events(const text *entity_type, log::EventId since)
{
    HASHCTL control{};
    control.keysize = sizeof(EntityKey);
    control.entrysize = sizeof(Latest);
    control.hcxt = CurrentMemoryContext;
    KnownEvents known{.entity_type = entity_type,
                      .latest =
                          hash_create("outbox known events", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT),
                      .oldest_unseen = InvalidFullTransactionId};

    const log::CallerIdentity caller = log::become_log_owner();
    known.oldest_unseen = read_oldest_unseen();
    Oid types[] = {TEXTOID, INT8OID};
    Datum values[] = {PointerGetDatum(entity_type), Int64GetDatum(since.value)};
    Portal events = SPI_cursor_open_with_args(
        nullptr,
        "SELECT entity_id, pg_catalog.max(id), pg_catalog.max(created_at) FROM outbox.event"
        " WHERE entity_type OPERATOR(pg_catalog.=) $1 AND id OPERATOR(pg_catalog.>=) $2 AND entity_id IS NOT NULL"
        " GROUP BY entity_id",
        2, types, values, nullptr, false, 0);
    log::become_caller(caller);
    for (;;) {
        SPI_cursor_fetch(events, true, rows_at_a_time);
        if (SPI_processed == 0)
            break;
        for (std::uint64_t i = 0; i < SPI_processed; i++)
            remember(known.latest, SPI_tuptable->vals[i]);
        SPI_freetuptable(SPI_tuptable);
    }
    SPI_cursor_close(events);
    return known;
}

bool has_later_event(const KnownEvents &known, const text *entity_id, log::EventId id)
{
    const Latest *latest = find(known, entity_id);
    return latest != nullptr && latest->id > id.value;
}

bool has_event_since(const KnownEvents &known, const text *entity_id, TimestampTz time)
{
    const Latest *latest = find(known, entity_id);
    return latest != nullptr && latest->created_at >= time;
}

bool has_new_event_since(const KnownEvents &known, const text *entity_id, TimestampTz time)
{
    Oid types[] = {TEXTOID, TEXTOID, TIMESTAMPTZOID, XID8OID};
    Datum values[] = {PointerGetDatum(known.entity_type), PointerGetDatum(entity_id), TimestampTzGetDatum(time),
                      FullTransactionIdGetDatum(known.oldest_unseen)};
    const log::CallerIdentity caller = log::become_log_owner();
    const int code = SPI_execute_with_args(
        "SELECT FROM outbox.event WHERE xid OPERATOR(pg_catalog.>=) $4 AND entity_type OPERATOR(pg_catalog.=) $1"
        " AND entity_id OPERATOR(pg_catalog.=) $2 AND created_at OPERATOR(pg_catalog.>=) $3",
        4, types, values, nullptr, false, 1);
    log::become_caller(caller);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "could not read outbox.event: %s", SPI_result_code_string(code));
    SPI_freetuptable(SPI_tuptable);
    return SPI_processed > 0;
}

} // namespace outbox::capture
