// outbox.capture_stats(): a row per table of this database that capture has counted something for.
#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "stats/capture_stats.hpp"

extern "C" {
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

OUTBOX_SQL_FUNCTION(outbox_capture_stats)

namespace outbox::stats {

namespace {

// An entry outlives its table.
bool is_shown(const CaptureStats &stats)
{
    const bool shared = stats.database == InvalidOid;
    return shared || (stats.database == MyDatabaseId && get_rel_name(stats.table) != nullptr);
}

void put_row(ReturnSetInfo *result, const CaptureStats &stats)
{
    Datum values[] = {
        ObjectIdGetDatum(stats.table),
        Int64GetDatum(stats.count(CaptureCount::events)),
        Int64GetDatum(stats.count(CaptureCount::failures)),
        Int64GetDatum(stats.count(CaptureCount::suppressed)),
        Int64GetDatum(stats.count(CaptureCount::oversized)),
        TimestampTzGetDatum(stats.last_event),
        TimestampTzGetDatum(stats.last_failure),
    };
    bool nulls[std::size(values)] = {};
    nulls[0] = !OidIsValid(stats.table);
    nulls[5] = stats.last_event == 0;
    nulls[6] = stats.last_failure == 0;
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

} // namespace

} // namespace outbox::stats

Datum outbox_capture_stats(PG_FUNCTION_ARGS)
{
    using namespace outbox::stats;

    outbox::pg::require_preload();
    outbox::pg::compat::init_materialized_srf(fcinfo);
    for (int place = 0; place < capture_stats_capacity; place++) {
        CaptureStats stats;
        if (read_capture_stats(place, &stats) && is_shown(stats))
            put_row(reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo), stats);
    }
    return Datum{0};
}
