#include "capture/canonical_settings.hpp"

extern "C" {
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/typcache.h"
}

namespace outbox::capture {

namespace {

bool is_utc(const char *zone)
{
    return strcmp(zone, "UTC") == 0 || strcmp(zone, "Etc/UTC") == 0 || strcmp(zone, "GMT") == 0;
}

constexpr FixedSetting canonical_settings[] = {
    // The order of day and month matters to input only.
    {"DateStyle", "ISO", [] { return DateStyle == USE_ISO_DATES; }},
    {"IntervalStyle", "postgres", [] { return IntervalStyle == INTSTYLE_POSTGRES; }},
    {"TimeZone", "UTC", [] { return is_utc(pg_get_timezone_name(session_timezone)); }},
    // Anything above zero gives the shortest text that reads back as the same number.
    {"extra_float_digits", "1", [] { return extra_float_digits > 0; }},
    {"bytea_output", "hex", [] { return bytea_output == BYTEA_OUTPUT_HEX; }},
    {"lc_monetary", "C", [] { return strcmp(locale_monetary, "C") == 0; }},
    // pg_temp last, or a temporary table could hide one of the server's.
    {"search_path", "pg_catalog, pg_temp", [] { return strcmp(namespace_search_path, "pg_catalog, pg_temp") == 0; }},
    {"quote_all_identifiers", "off", [] { return !quote_all_identifiers; }},
};

enum : SettingsMask {
    date_style = 1 << 0,
    interval_style = 1 << 1,
    time_zone = 1 << 2,
    float_digits = 1 << 3,
    bytea_format = 1 << 4,
    monetary = 1 << 5,
    path = 1 << 6,
    quoting = 1 << 7,
    // Types that are not the server's own. The path stays the session's: a cast to json written in SQL may need it.
    unknown = date_style | interval_style | time_zone | float_digits | bytea_format | monetary | quoting,
};

SettingsMask settings_of_builtin(Oid type)
{
    switch (type) {
    case DATEOID:
    case TIMETZOID:
    case TIMESTAMPOID:
        return date_style;
    case TIMESTAMPTZOID:
        return date_style | time_zone;
    case INTERVALOID:
        return interval_style;
    case FLOAT4OID:
    case FLOAT8OID:
    case POINTOID:
    case LSEGOID:
    case PATHOID:
    case BOXOID:
    case POLYGONOID:
    case LINEOID:
    case CIRCLEOID:
        return float_digits;
    case BYTEAOID:
    case PG_MCV_LISTOID:
        return bytea_format;
    case MONEYOID:
        return monetary;
    case REGPROCOID:
    case REGPROCEDUREOID:
    case REGOPEROID:
    case REGOPERATOROID:
    case REGCLASSOID:
    case REGTYPEOID:
    case REGCONFIGOID:
    case REGDICTIONARYOID:
    case REGCOLLATIONOID:
        return path | quoting;
    case REGNAMESPACEOID:
    case REGROLEOID:
        return quoting;
    default:
        return 0;
    }
}

// to_json() writes types that are not the server's own by their cast to json, if there is one.
bool has_cast_to_json(Oid type)
{
    Oid function = InvalidOid;
    return type >= FirstNormalObjectId &&
           find_coercion_pathway(JSONOID, type, COERCION_EXPLICIT, &function) == COERCION_PATH_FUNC;
}

SettingsMask settings_of_row_type(Oid type, List **row_types)
{
    const Oid relation = get_typ_typrelid(type);
    if (!OidIsValid(relation)) // record: any columns
        return unknown | path;
    *row_types = list_append_unique_oid(*row_types, relation);

    SettingsMask mask = 0;
    TupleDesc columns = lookup_rowtype_tupdesc_copy(type, -1);
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);
        if (!column->attisdropped)
            mask |= settings_of_type(column->atttypid, row_types);
    }
    return mask;
}

} // namespace

const SettingsMask all_settings_but_search_path = unknown;

// Ends: a type cannot contain itself, not even through arrays, ranges and domains.
SettingsMask settings_of_type(Oid type, List **row_types)
{
    const Oid base = getBaseType(type);
    const Oid element = get_element_type(base);
    if (OidIsValid(element))
        return settings_of_type(element, row_types);
    if (type_is_rowtype(base))
        return settings_of_row_type(base, row_types);
    if (has_cast_to_json(base))
        return unknown;
    if (type_is_range(base))
        return settings_of_type(get_range_subtype(base), row_types);
    if (type_is_multirange(base))
        return settings_of_type(get_multirange_range(base), row_types);
    if (type_is_enum(base))
        return 0;
    return base < FirstNormalObjectId ? settings_of_builtin(base) : static_cast<SettingsMask>(unknown);
}

void fix_setting(const FixedSetting &setting)
{
    (void)set_config_option(setting.name, setting.value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

int enter_canonical_settings(SettingsMask needed)
{
    int nest_level = 0;
    for (std::size_t i = 0; needed != 0; i++, needed >>= 1) {
        const FixedSetting &setting = canonical_settings[i];
        if ((needed & 1) == 0 || setting.holds())
            continue;
        if (nest_level == 0)
            nest_level = NewGUCNestLevel();
        fix_setting(setting);
    }
    return nest_level;
}

void leave_canonical_settings(int nest_level)
{
    if (nest_level > 0)
        AtEOXact_GUC(true, nest_level);
}

} // namespace outbox::capture
