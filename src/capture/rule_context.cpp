#include "capture/rule_context.hpp"

#include "capture/canonical_settings.hpp"

extern "C" {
#include "parser/parse_expr.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/guc.h"
#include "utils/xml.h"
}

namespace outbox::capture {

namespace {

// What the text of SQL, and of constants in it, is read by. How values are written, the canonical settings say.
constexpr FixedSetting reading_settings[] = {
    {"DateStyle", "ISO, MDY", [] { return DateOrder == DATEORDER_MDY; }},
    {"standard_conforming_strings", "on", [] { return standard_conforming_strings; }},
    {"transform_null_equals", "off", [] { return !Transform_null_equals; }},
    {"array_nulls", "on", [] { return Array_nulls; }},
    {"backslash_quote", "safe_encoding", [] { return backslash_quote == BACKSLASH_QUOTE_SAFE_ENCODING; }},
    {"xmloption", "content", [] { return xmloption == XMLOPTION_CONTENT; }},
};

} // namespace

int enter_rule_settings(const char *search_path)
{
    const int nest_level = NewGUCNestLevel();
    (void)enter_canonical_settings(all_settings_but_search_path);
    for (const FixedSetting &setting : reading_settings)
        if (!setting.holds())
            fix_setting(setting);
    // Temporary objects come last: nobody can put one in the way of what the rule means.
    fix_setting({.name = "search_path", .value = psprintf("%s, pg_temp", search_path), .holds = nullptr});
    return nest_level;
}

// Also takes back what functions of the rule have set.
void leave_rule_settings(int nest_level)
{
    AtEOXact_GUC(false, nest_level);
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
