// The SQL of a rule that runs when an event is made: variant and enrich, joined into one statement, data_query and
// previous_query. Each gets the new row as $1 and the old row as $2 (null where there is none), reads with a snapshot
// taken under the lock of the event's ordering key (key_lock.hpp), and calls no volatile function, so it only reads.
//
// Server regime.
#pragma once

#include "capture/change.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace outbox::capture {

struct Query {
    SPIPlanPtr plan;    // null: the rule has none
    int generation;     // of the plan that was looked at last
    TupleDesc result;   // what `columns` describes; null: not run yet
    ColumnList columns; // of its result
};

struct Queries {
    Query values; // the variant, if the rule has one, then what enriches data
    Query data;
    Query previous;
    bool has_variant;
    bool reads_tables; // not only the two rows
    bool serialize;
    const char *table;
    Oid owner;
    const char *search_path;
    MemoryContext context; // the plan's
};

// Compiles in the current memory context; null if the rule has no such SQL. Raises the server's own error if the SQL
// does not fit the table's row type.
Queries *compile_queries(const Rule &rule, Relation table);

// What the queries say about one change.
struct Answers {
    text *variant;          // null: none
    StringInfoData members; // `,"name":value` for each enrichment
    text *data;             // a JSON object; null: the rule has no data_query
    text *previous;         // the same for previous_query
};

// Returns false if data_query found no row: there is nothing to tell about.
bool answer(Queries *queries, const Change &change, Answers *answers);

} // namespace outbox::capture
