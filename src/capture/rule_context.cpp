#include "capture/rule_context.hpp"

#include "capture/canonical_settings.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace outbox::capture {

namespace {

void set(const char *name, const char *value)
{
    (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

} // namespace

int enter_rule_settings(const char *search_path)
{
    const int nest_level = NewGUCNestLevel();
    (void)enter_canonical_settings(all_settings_but_search_path);
    // Of dates that are written the order of day and month is no matter; those in the rule's SQL are read.
    if (DateOrder != DATEORDER_MDY)
        set("DateStyle", "ISO, MDY");
    // Temporary objects come last: nobody can put one in the way of what the rule means.
    set("search_path", psprintf("%s, pg_temp", search_path));
    return nest_level;
}

void leave_rule_settings(int nest_level)
{
    AtEOXact_GUC(true, nest_level);
}

RuleContext enter_rule_context(Oid owner, const char *search_path)
{
    RuleContext context{};
    GetUserIdAndSecContext(&context.user, &context.security);
    SetUserIdAndSecContext(owner, context.security | SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
    context.nest_level = enter_rule_settings(search_path);
    return context;
}

void leave_rule_context(const RuleContext &context)
{
    leave_rule_settings(context.nest_level);
    SetUserIdAndSecContext(context.user, context.security);
}

} // namespace outbox::capture
