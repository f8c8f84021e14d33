// A row as a JSON object of texts: each column's value as its type's output function writes it, under canonical
// settings; null is null. Unlike the data of an event it can always be read back, by column name, whatever else has
// changed about the table since; a column that is not in it is null then.
//
// Server regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
}

namespace outbox::capture {

// `wanted`: a flag for each of the table's attributes. A value that cannot be read is left out; null: nothing is left.
Jsonb *image_of_row(Relation table, TupleTableSlot *row, const bool *wanted);

// A slot that holds the row. Raises what a type's input function does.
TupleTableSlot *row_of_image(Relation table, Jsonb *image);

// A column's value, read from such a text. Raises what the type's input function does.
Datum value_of_text(Form_pg_attribute column, const char *text);

// The text of a column; null if it is null or not in the image.
const char *image_text(Jsonb *image, const char *column);

} // namespace outbox::capture
