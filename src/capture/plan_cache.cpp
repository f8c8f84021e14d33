#include "capture/plan_cache.hpp"

#include "capture/trigger_rule.hpp"

extern "C" {
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
}

namespace outbox::capture {

namespace {

struct CachedPlan {
    Oid trigger; // the hash key
    Oid table;
    MemoryContext context; // holds the plan
    CapturePlan *plan;
    bool stale;
};

HTAB *cached_plans;
std::uint64_t changes_seen; // reports of the relation cache, of any relation

bool depends_on(const CachedPlan &cached, Oid relation)
{
    return relation == InvalidOid || relation == cached.table || list_member_oid(cached.plan->relations, relation);
}

// Runs in the middle of anything: must not touch a catalog, nor free what may be in use.
void relation_changed(Datum, Oid relation)
{
    changes_seen++;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, cached_plans);
    while (auto *cached = static_cast<CachedPlan *>(hash_seq_search(&scan)))
        if (depends_on(*cached, relation))
            cached->stale = true;
}

// A condition holds functions, and bodies of functions, as they were when it was compiled.
void function_changed(Datum, int, uint32)
{
    changes_seen++;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, cached_plans);
    while (auto *cached = static_cast<CachedPlan *>(hash_seq_search(&scan)))
        if (cached->plan->condition != nullptr)
            cached->stale = true;
}

// The rule's SQL finds names by the names of schemas.
void schema_changed(Datum, int, uint32)
{
    changes_seen++;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, cached_plans);
    while (auto *cached = static_cast<CachedPlan *>(hash_seq_search(&scan)))
        if (cached->plan->condition != nullptr || cached->plan->queries != nullptr)
            cached->stale = true;
}

void create_cache()
{
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(CachedPlan);
    cached_plans = hash_create("outbox capture plans", 64, &control, HASH_ELEM | HASH_BLOBS);
    CacheRegisterRelcacheCallback(relation_changed, Datum{0});
    CacheRegisterSyscacheCallback(PROCOID, function_changed, Datum{0});
    CacheRegisterSyscacheCallback(NAMESPACEOID, schema_changed, Datum{0});
}

// Plans of dropped tables go this way too.
void retire_stale_plans()
{
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, cached_plans);
    while (auto *cached = static_cast<CachedPlan *>(hash_seq_search(&scan))) {
        if (!cached->stale)
            continue;
        MemoryContextSetParent(cached->context, TopTransactionContext);
        hash_search(cached_plans, &cached->trigger, HASH_REMOVE, nullptr);
    }
}

CapturePlan *compile_for(const TriggerData *call, MemoryContext context)
{
    Rule rule = parse_trigger_rule(*call->tg_trigger);
    MemoryContext caller = MemoryContextSwitchTo(context);
    CapturePlan *plan = compile_trigger_rule(&rule, *call->tg_trigger, call->tg_relation);
    MemoryContextSwitchTo(caller);
    return plan;
}

} // namespace

CapturePlan *find_plan(const TriggerData *call)
{
    if (cached_plans == nullptr)
        create_cache();
    const auto *cached =
        static_cast<CachedPlan *>(hash_search(cached_plans, &call->tg_trigger->tgoid, HASH_FIND, nullptr));
    return likely(cached != nullptr && !cached->stale) ? cached->plan : nullptr;
}

CapturePlan *make_plan(const TriggerData *call)
{
    retire_stale_plans();
    const std::uint64_t changes_before = changes_seen;

    // The caller's context has it until it is complete: an error frees it.
    MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "outbox capture plan", ALLOCSET_SMALL_SIZES);
    CapturePlan *plan = compile_for(call, context);

    auto *cached = static_cast<CachedPlan *>(hash_search(cached_plans, &call->tg_trigger->tgoid, HASH_ENTER, nullptr));
    MemoryContextSetParent(context, CacheMemoryContext);
    cached->table = RelationGetRelid(call->tg_relation);
    cached->context = context;
    cached->plan = plan;
    // The caller's lock keeps the table as the plan saw it for this call. The next one makes it again.
    cached->stale = changes_seen != changes_before;
    return plan;
}

} // namespace outbox::capture
