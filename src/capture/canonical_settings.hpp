// The settings under which values are written, so that an event does not depend on the session that made the
// change. Most types never look at a setting; the others are written inside a nest level of settings, and only
// if the session's values differ.
//
// Server regime. If an error is raised in between, the abort of the (sub)transaction ends the nest level.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/pg_list.h"
}

namespace outbox::capture {

// A set of settings.
using SettingsMask = std::uint32_t;

extern const SettingsMask all_settings_but_search_path;

// The settings that the text of a type's values depends on. Appends to *row_types the relations of the
// composite types that were looked into: a change of one of them may change the answer.
SettingsMask settings_of_type(Oid type, List **row_types);

// A setting, the value that it is to have, and whether the session's own value is as good.
struct FixedSetting {
    const char *name;
    const char *value;
    bool (*holds)();
};

// Until the current nest level of settings ends.
void fix_setting(const FixedSetting &setting);

// Makes the settings canonical; returns what leave_canonical_settings takes: 0 if nothing had to change.
int enter_canonical_settings(SettingsMask needed);
void leave_canonical_settings(int nest_level);

} // namespace outbox::capture
