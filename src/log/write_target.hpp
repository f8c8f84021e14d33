// Where events are written now, and how: the slice, its columns and indexes, as this backend has cached them.
//
// The cache is dropped by relation-cache invalidation of any of its tables (whoever turns the ring sends one for
// outbox.slice) and made again by the next write. A stale idea of the slice is harmless: readers go over all
// slices, and a slice is truncated only under a lock that conflicts with ours.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
}

namespace outbox::log {

// The columns that append fills. A newer library may meet an older catalog: columns are found by name, and one
// that the catalog does not have is left out.
enum class Column {
    id,
    xid,
    slice,
    event_id,
    event_type,
    entity_type,
    entity_id,
    ordering_key,
    payload,
    workspace_id,
    project_id,
    initiator_id,
    initiator_type,
    schema_version,
    headers,
    created_at,
};
constexpr int column_count = static_cast<int>(Column::created_at) + 1;

struct WriteTarget {
    Oid event;    // outbox.event
    Oid relation; // the slice's table
    std::int16_t slice;
    AttrNumber attribute[column_count]; // InvalidAttrNumber: the catalog does not have the column
    TupleTableSlot *slot;               // virtual, of a private copy of the slice's row type
    text *default_initiator_type;
    int index_count;
    Oid *indexes;
    IndexInfo **index_infos;
};

// The target, from the cache or made now; valid until the next call. The first call in a backend also raises the
// clock to the highest id of this database.
// Errors: object_not_in_prerequisite_state (no extension in this database, or no slice is being written).
const WriteTarget &write_target();

// Opens the slice of the target, and keeps it and its indexes locked until the transaction ends; close it with NoLock.
// The target is as the slice is under that lock.
Relation open_write_target(const WriteTarget **target);

} // namespace outbox::log
