#include "relay/commit_actions.hpp"

#include "relay/registry.hpp"

extern "C" {
#include "access/xact.h"
}

namespace outbox::relay {

namespace {

struct Wishes {
    bool relays_changed;
    bool keeper_wanted;
    bool databases_changed;
    Oid held;
};
Wishes wishes;

void refuse_prepare()
{
    if (wishes.relays_changed || wishes.keeper_wanted)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("cannot PREPARE a transaction that has changed outbox_relay or its relays"),
                errdetail("The background workers are told when it commits, which PREPARE would put off to another "
                          "session."),
                errhint("Use COMMIT."));
}

// A savepoint that is rolled back leaves its wish behind: to look once more in vain costs nothing.
void grant(bool committed)
{
    if (OidIsValid(wishes.held))
        release_held_database(wishes.held);
    if (committed && wishes.keeper_wanted)
        request_keeper(MyDatabaseId);
    if (committed && wishes.relays_changed)
        announce_relay_change();
    if ((committed && wishes.databases_changed) || OidIsValid(wishes.held))
        request_database_scan();
    wishes = {};
}

void on_transaction_end(XactEvent event, void *)
{
    switch (event) {
    case XACT_EVENT_PRE_PREPARE:
        refuse_prepare();
        break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_ABORT:
        grant(event == XACT_EVENT_COMMIT);
        break;
    default:
        break;
    }
}

Wishes &wish()
{
    static bool registered = false;
    if (!registered)
        RegisterXactCallback(on_transaction_end, nullptr);
    registered = true;
    return wishes;
}

} // namespace

void announce_relay_change_at_commit()
{
    wish().relays_changed = true;
}

void request_keeper_at_commit()
{
    wish().keeper_wanted = true;
}

void request_database_scan_at_commit()
{
    wish().databases_changed = true;
}

void release_database_at_end(Oid database)
{
    wish().held = database;
}

} // namespace outbox::relay
