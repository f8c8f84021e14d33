// A table's row by its identity: found as it is now, and locked. Server regime; needs an SPI connection.
#pragma once

#include "capture/plan.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/jsonb.h"
}

namespace outbox::capture {

struct RowLookup {
    Relation table;
    int count;                  // of the columns that identify a row
    const std::int16_t *places; // of these in the table
    bool *identity;             // for image_of_row()
    SPIPlanPtr plan;            // lives as long as the SPI connection
};

// By the table's key; without one by what the rule takes for its identity.
RowLookup prepare_lookup(Relation table, const CapturePlan &plan);

// Waits for whoever is changing the row. Null: it is not there. Raises data_exception if the image does not tell which
// row is meant.
TupleTableSlot *find_and_lock(const RowLookup &lookup, Jsonb *image);

// What to read rows of the table from: schema, name and alias t. Children by inheritance are not captured by its rule.
const char *from_clause(Relation table);

} // namespace outbox::capture
