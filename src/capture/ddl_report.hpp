// What the server tells an event trigger about a command, and the rules that the command may concern.
//
// Runs as whoever runs the command, who need not have any privilege on the schema outbox: our own objects are looked
// up in the catalog caches, which ask for none.
//
// Server regime.
#pragma once

#include "capture/rule.hpp"

namespace outbox::capture {

// An object, and a name: of a part of it, or its own.
struct Reported {
    Oid object;
    const char *name; // null: none
};

// The rows (object, name) of a query over what the server tells: a list of Reported, in the caller's memory context.
List *reported(const char *query);

// What oid_of gives for each row of a catalog whose column (of type oid) has the value.
List *scan_catalog(Oid catalog, AttrNumber column, Oid value, Oid (*oid_of)(HeapTuple));

// The tables and partitions with a trigger on outbox.capture().
List *captured_tables();

// A rule as its trigger holds it: what it leaves out is not filled in, but for the owner of the table.
struct TriggerRule {
    const Trigger *trigger;
    Rule rule;
};

// Those of a table, in the current memory context: rules that can be read, and were not copied from a partitioned
// table. Of a table that is gone: none.
int rules_of(Relation table, TriggerRule **rules);

// The way out for who meets a refusal because of the rule.
const char *hint_for(const Trigger &trigger);

} // namespace outbox::capture
