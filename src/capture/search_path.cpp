#include "capture/search_path.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/varlena.h"
}

namespace outbox::capture {

namespace {

// False if the text is no list of names. Of an empty path, a text of blanks, the server makes an error later on.
bool split(const Rule &rule, List **schemas)
{
    return SplitIdentifierString(pstrdup(rule.search_path.text()), ',', schemas) && *schemas != NIL;
}

} // namespace

void check_search_path(const Rule &rule)
{
    if (rule.search_path.count == 0)
        return;
    List *schemas = NIL;
    if (!split(rule, &schemas))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("value of rule key \"search_path\" is not valid"),
                errdetail("\"%s\" is no list of schemas.", rule.search_path.text()),
                errhint("Separate names by commas, and put those with upper case or special characters in double "
                        "quotes; \"\" is the empty path."));
    // Whoever changes a row may have temporary objects; the rule's SQL runs as the table's owner.
    ListCell *cell = nullptr;
    foreach (cell, schemas)
        if (strncmp(static_cast<const char *>(lfirst(cell)), "pg_temp", strlen("pg_temp")) == 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("rule key \"search_path\" names a temporary schema"),
                    errhint("Leave it out: temporary objects always come last."));
}

bool names_schema(const Rule &rule, const char *schema)
{
    List *schemas = NIL;
    if (rule.search_path.count == 0 || !split(rule, &schemas))
        return false;
    ListCell *cell = nullptr;
    foreach (cell, schemas) {
        const auto *name = static_cast<const char *>(lfirst(cell));
        if (strcmp(name, schema) == 0)
            return true;
        const char *owner = strcmp(name, "$user") == 0 ? GetUserNameFromId(rule.owner, true) : nullptr;
        if (owner != nullptr && strcmp(owner, schema) == 0)
            return true;
    }
    return false;
}

} // namespace outbox::capture
