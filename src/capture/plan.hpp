// The plan: a rule, compiled for the table whose rows the trigger sees. Server regime.
#pragma once

#include "capture/canonical_settings.hpp"
#include "capture/json_writer.hpp"
#include "capture/rule.hpp"

extern "C" {
#include "executor/tuptable.h"
}

namespace outbox::capture {

struct Column {
    std::int16_t index; // attribute number - 1
    std::int16_t length;
    bool by_value;
    ValueFormat format;
    const char *key; // `,"name":` escaped; the first of an object leaves out the comma
    int key_size;
};

struct ColumnList {
    int count;
    Column *columns;
};

struct Condition;
struct Queries;

struct CapturePlan {
    int column_count; // what data holds, in the table's order
    Column *columns;
    int attributes; // how many of the row's attributes must be taken apart

    Condition *condition; // null: every row counts
    ColumnList watch;     // none: an update counts if any captured column changed

    ColumnList entity_id;
    ColumnList ordering_key;
    ColumnList workspace_id;
    ColumnList project_id;
    ColumnList initiator_id;
    int soft_delete; // index; -1: none

    text *event_types[operation_count]; // null: not captured
    const char *verbs[operation_count];
    text *entity_type;
    text *schema_version;
    const char *initiator_type_setting;
    Queries *queries; // null: the event is made of the row alone

    int max_payload_size; // bytes; 0: the setting counts
    bool truncate_oversize;
    bool record_failures; // a change of a row goes on without its event if that cannot be made

    SettingsMask settings; // what any value's text depends on
    List *relations;       // what was looked into beside the table itself: the rule's table, composite types
    int payload_size;      // of the largest payload up to now, within limits: the next buffer's size
};

// A row as a trigger's slot holds it.
struct Row {
    const Datum *values;
    const bool *nulls;

    bool is_null(const Column &column) const { return nulls[column.index]; }
    Datum value(const Column &column) const { return values[column.index]; }
};

// Takes apart as much of the slot's row as the plan needs. The row stays valid as long as the slot holds it.
Row row_of(const CapturePlan &plan, TupleTableSlot *slot);

// Describes all columns of a query's result. Allocates in the current memory context.
ColumnList describe_columns(TupleDesc columns);

// The type of an event: raises invalid_parameter_value if it is too long to be a routing key.
text *event_type_of(const char *prefix, const char *verb);

// Compiles a complete rule in the current memory context. Raises what outbox.track() documents.
CapturePlan *compile_plan(const Rule &rule, Relation table);

// The same for events of the table as a whole, of a rule whose names are complete.
CapturePlan *compile_table_plan(const Rule &rule);

} // namespace outbox::capture
