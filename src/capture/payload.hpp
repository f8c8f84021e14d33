// The JSON of an event: {"data":{...},"previous_attributes":{...}}. Server regime.
#pragma once

#include "capture/plan.hpp"

namespace outbox::capture {

// data: every captured column of `row`; previous_attributes: of `before`, the columns whose places `changed` holds.
text *write_payload(CapturePlan *plan, const Row &row, const Row &before, const std::int16_t *changed,
                    int changed_count);

// Of an event that is about no row.
text *empty_payload();

// One column: its text, null if it is null. Several: a JSON array.
text *key_text(const ColumnList &key, const Row &row);

// The text of the first column that is not null.
text *first_text(const ColumnList &columns, const Row &row);

} // namespace outbox::capture
