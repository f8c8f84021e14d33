// Rows of the extension's own tables, inserted without the executor: no privileges of the user, no triggers (logical
// replication's role would make ours drop the row), no plan. Constraints hold by construction.
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
}

namespace outbox::log {

// The entry of a row that table_tuple_insert() has stored.
void insert_into_index(Relation table, Relation index, IndexInfo *info, TupleTableSlot *row);

struct NamedValue {
    const char *column; // one that the catalog does not have is left out
    Datum value;
    bool null;

    // Null pointers are SQL nulls.
    static NamedValue of(const char *column, const void *value)
    {
        return {.column = column, .value = PointerGetDatum(value), .null = value == nullptr};
    }
};

// Inserts a row into a table of schema outbox. What is not named is null.
// Errors: object_not_in_prerequisite_state if there is no such table.
void insert_row(const char *table, const NamedValue *values, int count);

} // namespace outbox::log
