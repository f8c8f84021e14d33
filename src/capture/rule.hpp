// The rule: what the capture triggers of a table do. One grammar for outbox.track() and for the argument of a
// trigger that somebody wrote by hand: a JSON object whose keys rule.cpp describes in a table.
//
//   parse_rule      JSON -> Rule: keys, shapes, names, contradictions. Needs no table.
//   complete_rule   fills in what the rule leaves out, from the table (defaults.cpp)
//   check_columns   every column that the rule names exists (defaults.cpp)
//   rule_to_jsonb   the normal form: every key, one spelling. Two rules are equal if their normal forms are
//
// Server regime. Everything is palloc'd in the current memory context.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/jsonb.h"
#include "utils/rel.h"
}

namespace outbox::capture {

enum class Operation : int { insert, update, remove, truncate };
inline constexpr int operation_count = 4;

// What a key holds: one string (a flag and a number as their text), several, or none (JSON null). Not given: the
// rule leaves the key out.
struct Value {
    bool given;
    int count;
    const char **items;
    const char **names; // of an object: the key of each item

    const char *text() const { return count > 0 ? items[0] : nullptr; }
    bool has(const char *item) const
    {
        return std::any_of(items, items + count, [&](const char *known) { return strcmp(known, item) == 0; });
    }
    bool is(const char *choice) const { return count > 0 && strcmp(items[0], choice) == 0; }
};

// In the current memory context; the item itself is not copied.
Value single_value(const char *item);

struct Rule {
    Oid table; // that the rule was written for: of a partition's trigger, the partitioned table
    Oid owner; // of that table: the rule's SQL runs as this role

    Value entity;
    Value prefix;
    Value entity_id;
    Value ordering_key;
    Value verbs[operation_count]; // none: the operation is not captured
    Value columns;                // none: all but exclude
    Value exclude;
    Value watch; // none: every captured column
    Value condition;
    Value soft_delete;
    Value workspace_id;
    Value project_id;
    Value initiator_id;
    Value initiator_type_setting;
    Value schema_version;
    Value variant;
    Value enrich; // name -> SQL
    Value data_query;
    Value previous_query;
    Value search_path;
    Value serialize;
    Value mask; // column -> way
    Value numbers;
    Value on_failure;
    Value max_event_size; // bytes; none: the setting counts
    Value on_oversize;

    // By columns or exclude.
    bool captures(const char *column) const { return columns.count > 0 ? columns.has(column) : !exclude.has(column); }

    // SQL that runs when an event is made; the condition, an expression over the row alone, is not meant.
    bool has_queries() const
    {
        return variant.count > 0 || enrich.count > 0 || data_query.count > 0 || previous_query.count > 0;
    }
    bool has_sql() const { return has_queries() || condition.count > 0; }
    const Value &verb(Operation operation) const { return verbs[static_cast<int>(operation)]; }
};

// Raises invalid_parameter_value for what no table could make valid.
Rule parse_rule(Jsonb *json);

Jsonb *rule_to_jsonb(const Rule &rule);

// A key that names columns.
struct ColumnKey {
    const char *name;
    int count;
    const char **columns;
};

// Fills `keys` (room for column_key_count); returns how many.
inline constexpr int column_key_count = 10;
int column_keys(const Rule &rule, ColumnKey *keys);

// The columns of the primary key, or of the index that the table's owner declared to be its replica identity; none: it
// has neither.
Value key_columns(Relation table);

// entity_name: the default entity, the name of the table the rule was written for. Raises
// invalid_table_definition if the table has no usable key and the rule names none.
void complete_rule(Rule *rule, Relation table, const char *entity_name);

// Only entity, prefix and verbs: all that an event of the table as a whole needs.
void complete_names(Rule *rule, const char *entity_name);

// Raises undefined_column.
void check_columns(const Rule &rule, Relation table);

// False for dropped columns, and for those that are computed when they are read.
bool can_capture(Form_pg_attribute column);

// The names of those that can be, for a hint.
const char *list_columns(TupleDesc columns);

// The zero-based place of a column that can be captured; -1: there is none of this name.
int find_column(TupleDesc columns, const char *name);

} // namespace outbox::capture
