#include "capture/capture_off.hpp"

#include "capture/json_writer.hpp"
#include "capture/target.hpp"
#include "log/append.hpp"
#include "pg/extension.hpp"
#include "stats/capture_counts.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

namespace outbox::capture {

namespace {

constexpr const char *event_type = "outbox.uncaptured";
constexpr std::size_t longest_reason = 1024; // bytes

// The changes of one table in one subtransaction.
struct Uncaptured {
    Oid table;
    char *name;
    SubTransactionId subtransaction;
    std::int64_t changes[operation_count];
};

// In TopTransactionContext: gone with the transaction.
struct Off {
    SubTransactionId since; // the subtransaction that called capture_off()
    const char *user;
    const char *reason; // null: none was given
    // Of Uncaptured, in the order of their subtransactions: what has to be looked at when one ends is at the end. A
    // subtransaction costs what it has changed, however many there were before or are around it.
    List *tables;
};

Off *off; // null: capture is on

void write_member(StringInfo out, const char *name, const char *value)
{
    appendStringInfo(out, "\"%s\":", name);
    if (value != nullptr)
        write_json_string(out, value, strlen(value));
    else
        appendStringInfoString(out, "null");
    appendStringInfoChar(out, ',');
}

text *payload_of(const Uncaptured &table)
{
    StringInfoData out;
    start_text(&out, 0);
    appendStringInfoString(&out, "{\"data\":{");
    write_member(&out, "table", table.name);
    write_member(&out, "user", off->user);
    write_member(&out, "reason", off->reason);
    appendStringInfo(
        &out,
        "\"inserted\":" INT64_FORMAT ",\"updated\":" INT64_FORMAT ",\"deleted\":" INT64_FORMAT
        ",\"truncated\":" INT64_FORMAT "},\"previous_attributes\":{}}",
        table.changes[static_cast<int>(Operation::insert)], table.changes[static_cast<int>(Operation::update)],
        table.changes[static_cast<int>(Operation::remove)], table.changes[static_cast<int>(Operation::truncate)]);
    return finish_text(&out);
}

Uncaptured *entry_at(int place)
{
    return static_cast<Uncaptured *>(list_nth(off->tables, place));
}

// The table's entry of the subtransaction, among the first `end`; null: there is none.
Uncaptured *find(Oid table, SubTransactionId subtransaction, int end)
{
    for (int i = end - 1; i >= 0 && entry_at(i)->subtransaction >= subtransaction; i--)
        if (entry_at(i)->table == table && entry_at(i)->subtransaction == subtransaction)
            return entry_at(i);
    return nullptr;
}

void remove(int place)
{
    Uncaptured *entry = entry_at(place);
    off->tables = list_delete_nth_cell(off->tables, place);
    pfree(entry->name);
    pfree(entry);
}

// The parent's changes from now on.
void hand_over(int place, SubTransactionId parent)
{
    Uncaptured *entry = entry_at(place);
    Uncaptured *kept = find(entry->table, parent, place);
    if (kept == nullptr) {
        entry->subtransaction = parent;
        return;
    }
    for (int i = 0; i < operation_count; i++)
        kept->changes[i] += entry->changes[i];
    remove(place);
}

// All subtransactions have ended: a table has one entry. A long reason goes into a TOAST table, which takes a snapshot,
// and at this point of a commit there is none.
void write_events()
{
    PushActiveSnapshot(GetTransactionSnapshot());
    ListCell *cell = nullptr;
    foreach (cell, off->tables) {
        const auto *table = static_cast<Uncaptured *>(lfirst(cell));
        log::NewEvent event{};
        event.event_type = cstring_to_text(event_type);
        event.entity_type = event.event_type;
        event.entity_id = cstring_to_text(table->name);
        event.initiator_id = cstring_to_text(off->user);
        event.payload = payload_of(*table);
        log::append(event);
    }
    PopActiveSnapshot();
}

void on_transaction(XactEvent event, void *)
{
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
        // Whoever has dropped the extension in this transaction has dropped the log.
        if (off != nullptr && off->tables != NIL && OidIsValid(pg::extension_oid()))
            write_events();
        break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PREPARE:
    case XACT_EVENT_ABORT:
        off = nullptr;
        break;
    default:
        break;
    }
}

// Subtransactions are numbered as they start, so those inside of one have higher numbers.
void on_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *)
{
    if (off == nullptr || (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB))
        return;
    const bool aborted = event == SUBXACT_EVENT_ABORT_SUB;
    if (aborted && off->since >= id) {
        off = nullptr;
        return;
    }
    off->since = off->since == id ? parent : off->since;
    for (int i = list_length(off->tables) - 1; i >= 0 && entry_at(i)->subtransaction >= id; i--) {
        if (aborted)
            remove(i);
        else
            hand_over(i, parent);
    }
}

// It goes into an event per table.
void check_reason(const char *reason)
{
    if (reason != nullptr && strlen(reason) > longest_reason)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("reason is too long"),
                errdetail("It has %zu bytes; %zu are allowed.", strlen(reason), longest_reason),
                errhint("Say in a sentence why consumers will miss changes."));
}

void turn_off(const char *reason)
{
    check_reason(reason);
    static bool registered = false;
    if (!registered) {
        RegisterXactCallback(on_transaction, nullptr);
        RegisterSubXactCallback(on_subtransaction, nullptr);
        registered = true;
    }
    if (off != nullptr)
        return;
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    auto *fresh = static_cast<Off *>(palloc0(sizeof(Off)));
    fresh->since = GetCurrentSubTransactionId();
    fresh->user = GetUserNameFromId(GetSessionUserId(), false);
    fresh->reason = reason != nullptr ? pstrdup(reason) : nullptr;
    off = fresh;
    MemoryContextSwitchTo(caller);
}

} // namespace

bool capture_is_off()
{
    return off != nullptr;
}

void count_uncaptured(Relation table, Operation operation)
{
    Uncaptured *entry = find(RelationGetRelid(table), GetCurrentSubTransactionId(), list_length(off->tables));
    if (entry == nullptr) {
        const char *name = qualified_name(table);
        MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
        entry = static_cast<Uncaptured *>(palloc0(sizeof(Uncaptured)));
        entry->table = RelationGetRelid(table);
        entry->name = pstrdup(name);
        entry->subtransaction = GetCurrentSubTransactionId();
        off->tables = lappend(off->tables, entry);
        MemoryContextSwitchTo(caller);
    }
    entry->changes[static_cast<int>(operation)]++;
    stats::count_capture(RelationGetRelid(table), stats::CaptureCount::suppressed);
}

} // namespace outbox::capture

OUTBOX_SQL_FUNCTION(outbox_capture_off)

Datum outbox_capture_off(PG_FUNCTION_ARGS)
{
    outbox::pg::require_preload();
    outbox::capture::turn_off(PG_ARGISNULL(0) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(0)));
    PG_RETURN_VOID();
}
