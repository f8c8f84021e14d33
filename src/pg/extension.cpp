#include "pg/extension.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace outbox::pg {

namespace {
bool is_preloaded = false;
}

Oid extension_oid()
{
    return get_extension_oid("outbox_relay", true);
}

Oid table_oid(const char *name)
{
    const Oid schema = get_namespace_oid("outbox", true);
    return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

Oid function_oid(const char *name)
{
    // Looking the name up as the parser does would ask for a privilege on the schema.
    const oidvector *no_arguments = buildoidvector(nullptr, 0);
    return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name), PointerGetDatum(no_arguments),
                           ObjectIdGetDatum(get_namespace_oid("outbox", true)));
}

void mark_preloaded()
{
    is_preloaded = true;
}

bool preloaded()
{
    return is_preloaded;
}

void require_preload()
{
    if (!is_preloaded)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("outbox_relay is not in shared_preload_libraries"),
                errdetail("The library keeps its clock in shared memory and runs background workers, so the server "
                          "must load it when it starts."),
                errhint("Add shared_preload_libraries = 'outbox_relay' to postgresql.conf (after a comma, if it names "
                        "others) and restart the server."));
}

void require_arguments(FunctionCallInfo fcinfo, std::initializer_list<const char *> names)
{
    int number = 0;
    for (const char *name : names)
        if (PG_ARGISNULL(number++))
            ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("argument \"%s\" must not be null", name),
                    errhint("Leave it out for its default, if it has one."));
}

} // namespace outbox::pg

OUTBOX_SQL_FUNCTION(outbox_check_preload)

Datum outbox_check_preload(PG_FUNCTION_ARGS)
{
    outbox::pg::require_preload();
    PG_RETURN_VOID();
}
