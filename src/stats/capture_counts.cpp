// A stack: the counts of a subtransaction lie on top of those of its parent while it runs, for what is counted is
// counted at the current nest level. Within a level each table has one entry.
#include "stats/capture_counts.hpp"

extern "C" {
#include "utils/memutils.h"
}

namespace outbox::stats {

PendingCounts *detail::newest;

namespace {

PendingCounts *stack;
int stack_size;
int stack_room;

void set_size(int size)
{
    stack_size = size;
    detail::newest = size > 0 ? &stack[size - 1] : nullptr;
}

PendingCounts *find(Oid table, int nest_level)
{
    for (int i = stack_size - 1; i >= 0 && stack[i].nest_level == nest_level; i--)
        if (stack[i].table == table)
            return &stack[i];
    return nullptr;
}

void commit_counts()
{
    for (int i = 0; i < stack_size; i++)
        add_capture_stats(stack[i].table, stack[i].counts, GetCurrentTransactionStopTimestamp());
    set_size(0);
}

void on_transaction_end(XactEvent event, void *)
{
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
        commit_counts();
    else if (event == XACT_EVENT_ABORT)
        set_size(0);
}

// Moves the level's entries, which are on top, into its parent's. Needs no room: what it adds, it has taken away.
void merge_into_parent(int nest_level)
{
    int first = stack_size;
    while (first > 0 && stack[first - 1].nest_level == nest_level)
        first--;
    const int end = stack_size;
    set_size(first);
    for (int i = first; i < end; i++) {
        const PendingCounts from = stack[i];
        if (PendingCounts *to = find(from.table, nest_level - 1)) {
            for (int kind = 0; kind < capture_count_kinds; kind++)
                to->counts[kind] += from.counts[kind];
        } else {
            stack[stack_size] = from;
            stack[stack_size].nest_level = nest_level - 1;
            set_size(stack_size + 1);
        }
    }
}

void on_subtransaction_end(SubXactEvent event, SubTransactionId, SubTransactionId, void *)
{
    const int nest_level = GetCurrentTransactionNestLevel();
    if (event == SUBXACT_EVENT_COMMIT_SUB) {
        merge_into_parent(nest_level);
    } else if (event == SUBXACT_EVENT_ABORT_SUB) {
        int size = stack_size;
        while (size > 0 && stack[size - 1].nest_level >= nest_level)
            size--;
        set_size(size);
    }
}

void make_room()
{
    constexpr int first_room = 16;
    if (stack == nullptr) {
        stack = static_cast<PendingCounts *>(MemoryContextAlloc(TopMemoryContext, sizeof(PendingCounts) * first_room));
        stack_room = first_room;
        RegisterXactCallback(on_transaction_end, nullptr);
        RegisterSubXactCallback(on_subtransaction_end, nullptr);
    } else if (stack_size == stack_room) {
        stack = static_cast<PendingCounts *>(repalloc(stack, sizeof(PendingCounts) * stack_room * 2));
        stack_room *= 2;
        set_size(stack_size);
    }
}

} // namespace

PendingCounts *detail::find_or_add(Oid table, int nest_level)
{
    if (PendingCounts *known = find(table, nest_level))
        return known;
    make_room();
    stack[stack_size] = PendingCounts{.table = table, .nest_level = nest_level, .counts = {}};
    set_size(stack_size + 1);
    return newest;
}

} // namespace outbox::stats
