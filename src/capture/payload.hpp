// The JSON of an event: {"data":{...},"previous_attributes":{...}}. Server regime.
#pragma once

#include "capture/change.hpp"

namespace outbox::capture {

struct Answers;

// data: every captured column of the row, and what the rule's queries add, or have in its place; previous_attributes:
// the old values of the changed columns, or what previous_query gave. answers: null if the rule has no queries.
text *write_payload(CapturePlan *plan, const Change &change, const Answers *answers);

// Of a row of which nothing but its identity is to be told.
text *identity_payload(const ColumnList &identity, const Row &row);

// In place of a payload of `size` bytes that is too large: the row's identity, and that something is missing.
text *truncated_payload(const ColumnList &identity, const Row &row, std::size_t size);

// Of an event that is about no row.
text *empty_payload();

// A JSON object of the columns.
void write_object(StringInfo out, const ColumnList &columns, const Row &row);

// `"name":value`. `first`: the object has no member yet, so the key's comma is left out.
void write_member(StringInfo out, const Column &column, const Row &row, bool first);

// One column: its text, null if it is null. Several: a JSON array.
text *key_text(const ColumnList &key, const Row &row);

// The text of the first column that is not null.
text *first_text(const ColumnList &columns, const Row &row);

} // namespace outbox::capture
