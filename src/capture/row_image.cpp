#include "capture/row_image.hpp"

#include "capture/jsonb_build.hpp"
#include "capture/rule.hpp"
#include "capture/rule_context.hpp"
#include "pg/attempt.hpp"

extern "C" {
#include "executor/executor.h"
#include "utils/lsyscache.h"
}

namespace outbox::capture {

namespace {

// Names are written with their schemas.
constexpr const char *image_search_path = "pg_catalog";

char *text_of(Oid type, Datum value)
{
    Oid output = InvalidOid;
    bool is_varlena = false;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
}

void push_member(JsonbParseState **state, const char *name, const char *text)
{
    push_string(state, WJB_KEY, name);
    if (text != nullptr)
        push_string(state, WJB_VALUE, text);
    else
        push_null(state);
}

} // namespace

Jsonb *image_of_row(Relation table, TupleTableSlot *row, const bool *wanted)
{
    TupleDesc columns = RelationGetDescr(table);
    slot_getallattrs(row);
    const int nest_level = enter_rule_settings(image_search_path);
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    bool empty = true;
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);
        if (!wanted[i] || !can_capture(column))
            continue;
        const char *text = nullptr;
        if (!row->tts_isnull[i] &&
            pg::attempt([&] { text = text_of(column->atttypid, row->tts_values[i]); }) != nullptr)
            continue;
        push_member(&state, NameStr(column->attname), text);
        empty = false;
    }
    Jsonb *image = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    leave_rule_settings(nest_level);
    return empty ? nullptr : image;
}

TupleTableSlot *row_of_image(Relation table, Jsonb *image)
{
    TupleDesc columns = CreateTupleDescCopyConstr(RelationGetDescr(table));
    TupleTableSlot *row = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
    const int nest_level = enter_rule_settings(image_search_path);
    for (int i = 0; i < columns->natts; i++) {
        Form_pg_attribute column = TupleDescAttr(columns, i);
        const char *text = can_capture(column) ? image_text(image, NameStr(column->attname)) : nullptr;
        row->tts_isnull[i] = text == nullptr;
        row->tts_values[i] = text != nullptr ? value_of_text(column, text) : Datum{0};
    }
    leave_rule_settings(nest_level);
    return ExecStoreVirtualTuple(row);
}

Datum value_of_text(Form_pg_attribute column, const char *text)
{
    Oid input = InvalidOid;
    Oid parameter = InvalidOid;
    getTypeInputInfo(column->atttypid, &input, &parameter);
    return OidInputFunctionCall(input, const_cast<char *>(text), parameter, column->atttypmod);
}

const char *image_text(Jsonb *image, const char *column)
{
    JsonbValue found;
    if (getKeyJsonValueFromContainer(&image->root, column, static_cast<int>(strlen(column)), &found) == nullptr ||
        found.type != jbvString)
        return nullptr;
    return pnstrdup(found.val.string.val, found.val.string.len);
}

} // namespace outbox::capture
