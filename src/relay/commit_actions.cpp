#include "relay/commit_actions.hpp"

#include "pg/postgres.hpp"
#include "relay/registry.hpp"

extern "C" {
#include "access/xact.h"
}

namespace outbox::relay {

namespace {

bool relays_changed = false;
bool keeper_wanted = false;

// A savepoint that is rolled back leaves its wish behind: to look once more in vain costs nothing.
void on_transaction_end(XactEvent event, void *)
{
    const bool committed = event == XACT_EVENT_COMMIT;
    if (!committed && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
        return;
    if (committed && keeper_wanted)
        request_keeper(MyDatabaseId);
    if (committed && relays_changed)
        announce_relay_change();
    relays_changed = keeper_wanted = false;
}

void note(bool &wish)
{
    static bool registered = false;
    if (!registered)
        RegisterXactCallback(on_transaction_end, nullptr);
    registered = true;
    wish = true;
}

} // namespace

void announce_relay_change_at_commit()
{
    note(relays_changed);
}

void request_keeper_at_commit()
{
    note(keeper_wanted);
}

} // namespace outbox::relay
