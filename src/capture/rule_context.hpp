// Where the SQL of a rule runs: always in the same settings, whatever the session's are, and as the owner of the
// table, restricted as foreign key checks are, so that who changes a row needs no privilege on what the rule reads.
//
// Server regime. If an error is raised in between, the abort of the (sub)transaction puts all back.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::capture {

// The rule's search_path, and canonical settings. Returns what leave_rule_settings takes.
int enter_rule_settings(const char *search_path);
void leave_rule_settings(int nest_level);

struct RuleContext {
    Oid user;
    int security;
    int nest_level;
};

// The rule's settings, as `owner`.
RuleContext enter_rule_context(Oid owner, const char *search_path);
void leave_rule_context(const RuleContext &context);

} // namespace outbox::capture
