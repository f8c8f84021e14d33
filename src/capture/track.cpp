// outbox.track() and outbox.untrack(): the capture triggers of a table. The rule lives in the triggers' argument,
// in its normal form with all defaults filled in, so that it keeps its meaning when the table is renamed; nothing
// else is stored.
//
// The triggers are made by SQL commands, so that locks, privileges, partitions and event triggers are the
// server's business. What the commands need is read before the first one runs: they rebuild the relation's cache.
//
// Server regime.
#include "capture/plan.hpp"
#include "capture/target.hpp"
#include "pg/compat.hpp"
#include "pg/extension.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
}

namespace outbox::capture {

namespace {

// One of the two triggers of a table: as it is, and as the rule wants it.
struct Twin {
    const char *name;
    const char *level;
    int events; // none: the rule does not need it
    bool present;
    bool matches;
    char enabled;
};

bool is_captured(const Rule &rule, Operation operation)
{
    return rule.verb(operation).count > 0;
}

int row_events(const Rule &rule)
{
    // A soft delete arrives as an update, and so does what enters or leaves the condition.
    const bool soft_deletes = is_captured(rule, Operation::remove) && rule.soft_delete.count > 0;
    const bool crossings = rule.condition.count > 0;
    int events = 0;
    if (is_captured(rule, Operation::insert))
        events |= TRIGGER_TYPE_INSERT;
    if (is_captured(rule, Operation::update) || soft_deletes || crossings)
        events |= TRIGGER_TYPE_UPDATE;
    if (is_captured(rule, Operation::remove))
        events |= TRIGGER_TYPE_DELETE;
    return events;
}

bool trigger_matches(const Trigger &trigger, int type, const char *rule)
{
    return trigger.tgtype == type && trigger.tgnargs == 1 && strcmp(trigger.tgargs[0], rule) == 0 &&
           trigger.tgqual == nullptr && trigger.tgnattr == 0 && trigger.tgenabled != TRIGGER_DISABLED;
}

Twin examine_twin(Relation table, const char *name, bool row, int events, const char *rule)
{
    const Trigger *trigger = find_trigger(table, name);
    const int type = events | TRIGGER_TYPE_AFTER | (row ? TRIGGER_TYPE_ROW : TRIGGER_TYPE_STATEMENT);
    return Twin{.name = quote_identifier(name),
                .level = row ? "ROW" : "STATEMENT",
                .events = events,
                .present = trigger != nullptr,
                .matches = trigger != nullptr ? trigger_matches(*trigger, type, rule) : events == 0,
                .enabled = trigger != nullptr ? trigger->tgenabled : static_cast<char>(TRIGGER_FIRES_ON_ORIGIN)};
}

void run_command(const char *command)
{
    if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
        elog(ERROR, "could not run: %s", command);
}

const char *events_clause(int events)
{
    StringInfoData clause;
    initStringInfo(&clause);
    const auto add = [&](int event, const char *word) {
        if ((events & event) != 0)
            appendStringInfo(&clause, "%s%s", clause.len > 0 ? " OR " : "", word);
    };
    add(TRIGGER_TYPE_INSERT, "INSERT");
    add(TRIGGER_TYPE_UPDATE, "UPDATE");
    add(TRIGGER_TYPE_DELETE, "DELETE");
    add(TRIGGER_TYPE_TRUNCATE, "TRUNCATE");
    return clause.data;
}

void drop_trigger(const char *table, const Twin &twin)
{
    run_command(psprintf("DROP TRIGGER %s ON %s", twin.name, table));
}

void establish_trigger(const char *table, const Twin &twin, const char *rule)
{
    if (twin.matches)
        return;
    if (twin.events == 0)
        return drop_trigger(table, twin);

    run_command(psprintf("CREATE OR REPLACE TRIGGER %s AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION outbox.capture(%s)",
                         twin.name, events_clause(twin.events), table, twin.level, quote_literal_cstr(rule)));
    // A replaced trigger fires on origin only, whatever its owner had set.
    if (twin.enabled == TRIGGER_FIRES_ALWAYS || twin.enabled == TRIGGER_FIRES_ON_REPLICA)
        run_command(psprintf("ALTER TABLE %s ENABLE %s TRIGGER %s", table,
                             twin.enabled == TRIGGER_FIRES_ALWAYS ? "ALWAYS" : "REPLICA", twin.name));
}

// They run as the table's owner.
void require_owner_of_sql(const Rule &rule, Relation table)
{
    if (rule.has_sql() && !pg::compat::owns_table(RelationGetRelid(table), GetUserId()))
        ereport(
            ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("only the owner of table \"%s\" can track it by a rule with SQL", RelationGetRelationName(table)),
            errdetail("The SQL would run with the owner's privileges."),
            errhint("Let the owner call outbox.track(), or leave out condition, variant, enrich, data_query and "
                    "previous_query."));
}

Jsonb *track(Oid table_oid, Jsonb *rule_json)
{
    Relation table = open_target(table_oid);
    refuse_tracked_partition(table);
    refuse_other_capture_triggers(table);

    Rule rule = parse_rule(rule_json);
    complete_rule(&rule, table, RelationGetRelationName(table));
    require_owner_of_sql(rule, table);
    (void)compile_plan(rule, table); // raises what would be wrong when a row changes

    Jsonb *complete = rule_to_jsonb(rule);
    const char *rule_text = JsonbToCString(nullptr, &complete->root, VARSIZE(complete));
    const char *table_name = qualified_name(table);
    const int truncate_events = is_captured(rule, Operation::truncate) ? TRIGGER_TYPE_TRUNCATE : 0;
    const Twin row = examine_twin(table, row_trigger_name, true, row_events(rule), rule_text);
    const Twin truncate = examine_twin(table, truncate_trigger_name, false, truncate_events, rule_text);
    if (!row.matches || !truncate.matches)
        warn_of_earlier_triggers(table);
    relation_close(table, AccessShareLock);

    if (!row.matches || !truncate.matches) {
        SPI_connect();
        establish_trigger(table_name, row, rule_text);
        establish_trigger(table_name, truncate, rule_text);
        SPI_finish();
    }
    return complete;
}

void untrack(Oid table_oid, bool if_exists)
{
    Relation table = open_target(table_oid);
    refuse_tracked_partition(table);
    const char *table_name = qualified_name(table);
    const Twin row = examine_twin(table, row_trigger_name, true, 0, "");
    const Twin truncate = examine_twin(table, truncate_trigger_name, false, 0, "");
    if (!row.present && !truncate.present && !if_exists)
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("table \"%s\" is not tracked", RelationGetRelationName(table)),
                errhint("The view outbox.rules lists the tracked tables and their triggers."));
    relation_close(table, AccessShareLock);

    SPI_connect();
    if (row.present)
        drop_trigger(table_name, row);
    if (truncate.present)
        drop_trigger(table_name, truncate);
    SPI_finish();
}

} // namespace

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_track)
OUTBOX_SQL_FUNCTION(outbox_untrack)

Datum outbox_track(PG_FUNCTION_ARGS)
{
    outbox::pg::require_arguments(fcinfo, {"target", "rule"});
    PG_RETURN_JSONB_P(outbox::capture::track(PG_GETARG_OID(0), PG_GETARG_JSONB_P(1)));
}

Datum outbox_untrack(PG_FUNCTION_ARGS)
{
    outbox::pg::require_arguments(fcinfo, {"target", "if_exists"});
    outbox::capture::untrack(PG_GETARG_OID(0), PG_GETARG_BOOL(1));
    PG_RETURN_VOID();
}
