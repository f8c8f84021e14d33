#include "capture/row_lookup.hpp"

#include "capture/row_image.hpp"
#include "capture/target.hpp"
#include "capture/tracked_table.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace outbox::capture {

namespace {

Form_pg_attribute column_at(const RowLookup &lookup, int i)
{
    return TupleDescAttr(RelationGetDescr(lookup.table), lookup.places[i]);
}

void identify(RowLookup *lookup, const CapturePlan &plan)
{
    TupleDesc columns = RelationGetDescr(lookup->table);
    const Value key = key_columns(lookup->table);
    lookup->count = key.count > 0 ? key.count : plan.entity_id.count;
    lookup->identity = static_cast<bool *>(palloc0(columns->natts));
    auto *places = static_cast<std::int16_t *>(palloc(sizeof(std::int16_t) * lookup->count));
    for (int i = 0; i < lookup->count; i++) {
        places[i] = key.count > 0 ? static_cast<std::int16_t>(find_column(columns, key.items[i]))
                                  : plan.entity_id.columns[i].index;
        lookup->identity[places[i]] = true;
    }
    lookup->places = places;
}

Oid equality_of(Form_pg_attribute column)
{
    const Oid equality = lookup_type_cache(column->atttypid, TYPECACHE_EQ_OPR)->eq_opr;
    if (!OidIsValid(equality))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("rows cannot be found by column \"%s\"", NameStr(column->attname)),
                errdetail("Type %s has no equality operator.", format_type_be(column->atttypid)),
                errhint("Give the table a primary key."));
    return equality;
}

} // namespace

const char *from_clause(Relation table)
{
    const bool partitioned = table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    return psprintf("FROM %s%s AS t", partitioned ? "" : "ONLY ", qualified_name(table));
}

RowLookup prepare_lookup(Relation table, const CapturePlan &plan)
{
    RowLookup lookup{.table = table};
    identify(&lookup, plan);

    auto *types = static_cast<Oid *>(palloc(sizeof(Oid) * lookup.count));
    StringInfoData sql;
    initStringInfo(&sql);
    appendStringInfo(&sql, "SELECT t %s WHERE ", from_clause(table));
    for (int i = 0; i < lookup.count; i++) {
        Form_pg_attribute column = column_at(lookup, i);
        types[i] = column->atttypid;
        if (i > 0)
            appendStringInfoString(&sql, " AND ");
        generate_operator_clause(&sql, psprintf("t.%s", quote_identifier(NameStr(column->attname))), types[i],
                                 equality_of(column), psprintf("$%d", i + 1), types[i]);
    }
    appendStringInfoString(&sql, " FOR UPDATE OF t");
    lookup.plan = SPI_prepare(sql.data, lookup.count, types);
    if (lookup.plan == nullptr)
        elog(ERROR, "could not prepare %s", sql.data);
    return lookup;
}

TupleTableSlot *find_and_lock(const RowLookup &lookup, Jsonb *image)
{
    auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * lookup.count));
    for (int i = 0; i < lookup.count; i++) {
        Form_pg_attribute column = column_at(lookup, i);
        const char *text = image != nullptr ? image_text(image, NameStr(column->attname)) : nullptr;
        if (text == nullptr)
            ereport(
                ERROR, errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("it is not known which row of table \"%s\" is meant", RelationGetRelationName(lookup.table)),
                errdetail("The value of its column \"%s\" is null, or could not be read.", NameStr(column->attname)),
                errhint("Emit an event with outbox.emit() and delete the row of outbox.capture_failure."));
        values[i] = value_of_text(column, text);
    }
    const int code = SPI_execute_plan(lookup.plan, values, nullptr, false, 1);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "could not look a row up: %s", SPI_result_code_string(code));
    if (SPI_processed == 0)
        return nullptr;
    bool is_null = false;
    const Datum row = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    TupleTableSlot *slot = slot_of_row(lookup.table, row);
    SPI_freetuptable(SPI_tuptable);
    return slot;
}

} // namespace outbox::capture
