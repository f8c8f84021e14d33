// The grammar of rules: the table of keys, and what follows from it (parsing, messages, the normal form).
#include "capture/rule.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace outbox::capture {

namespace {

enum class Shape {
    string,
    string_or_null,
    column_or_null,
    columns,         // a column, or an array of at least one
    columns_or_null, // the same, or null
    column_list,     // an array of at least one, or null
    column_list_or_empty,
};

struct KeyDefinition {
    const char *name;
    Value Rule::*value;
    Shape shape;
};

// "verbs", an object of its own, is the one key beside these.
constexpr KeyDefinition key_definitions[] = {
    {"entity", &Rule::entity, Shape::string},
    {"prefix", &Rule::prefix, Shape::string},
    {"entity_id", &Rule::entity_id, Shape::columns},
    {"ordering_key", &Rule::ordering_key, Shape::columns_or_null},
    {"columns", &Rule::columns, Shape::column_list},
    {"exclude", &Rule::exclude, Shape::column_list_or_empty},
    {"soft_delete", &Rule::soft_delete, Shape::column_or_null},
    {"workspace_id", &Rule::workspace_id, Shape::column_or_null},
    {"project_id", &Rule::project_id, Shape::column_or_null},
    {"initiator_id", &Rule::initiator_id, Shape::columns_or_null},
    {"initiator_type_setting", &Rule::initiator_type_setting, Shape::string_or_null},
    {"schema_version", &Rule::schema_version, Shape::string_or_null},
};

constexpr const char *verbs_key = "verbs";
constexpr const char *operation_names[operation_count] = {"insert", "update", "delete", "truncate"};

bool holds_columns(Shape shape)
{
    return shape != Shape::string && shape != Shape::string_or_null;
}

bool allows_null(Shape shape)
{
    return shape != Shape::string && shape != Shape::columns;
}

bool allows_string(Shape shape)
{
    return shape != Shape::column_list && shape != Shape::column_list_or_empty;
}

bool allows_array(Shape shape)
{
    return shape == Shape::columns || shape == Shape::columns_or_null || !allows_string(shape);
}

const char *expectation(Shape shape)
{
    switch (shape) {
    case Shape::string:
        return "It takes a string that is not empty.";
    case Shape::string_or_null:
        return "It takes a string that is not empty, or null.";
    case Shape::column_or_null:
        return "It takes the name of a column, or null.";
    case Shape::columns:
        return "It takes the name of a column, or an array of names of columns.";
    case Shape::columns_or_null:
        return "It takes the name of a column, an array of names of columns, or null.";
    case Shape::column_list:
    case Shape::column_list_or_empty:
        return "It takes an array of names of columns, or null.";
    }
    pg_unreachable();
}

const char *known_keys()
{
    StringInfoData list;
    initStringInfo(&list);
    for (const KeyDefinition &key : key_definitions)
        appendStringInfo(&list, "%s, ", key.name);
    return psprintf("Known keys: %s%s.", list.data, verbs_key);
}

const char *copy_string(const JsonbValue &value)
{
    return pnstrdup(value.val.string.val, value.val.string.len);
}

[[noreturn]] void refuse_value(const char *key, const char *hint)
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("value of rule key \"%s\" is not valid", key),
            errhint("%s", hint));
    pg_unreachable();
}

// A non-empty JSON string, as the value's next item.
void add_item(Value *value, const JsonbValue &json, const char *key, const char *hint)
{
    if (json.type != jbvString || json.val.string.len == 0)
        refuse_value(key, hint);
    const char *item = copy_string(json);
    for (int i = 0; i < value->count; i++)
        if (strcmp(value->items[i], item) == 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("rule key \"%s\" names column \"%s\" twice", key, item), errhint("Name each column once."));
    value->items[value->count++] = item;
}

Value parse_array(const JsonbValue &json, const char *key, const char *hint)
{
    if (json.type != jbvBinary || !JsonContainerIsArray(json.val.binary.data) ||
        JsonContainerIsScalar(json.val.binary.data))
        refuse_value(key, hint);

    Value value{.given = true, .count = 0, .items = nullptr};
    const uint32 size = JsonContainerSize(json.val.binary.data);
    value.items = static_cast<const char **>(palloc(sizeof(char *) * std::max<uint32>(size, 1)));
    for (uint32 i = 0; i < size; i++)
        add_item(&value, *getIthJsonbValueFromContainer(json.val.binary.data, i), key, hint);
    return value;
}

Value parse_value(const JsonbValue &json, const char *key, Shape shape)
{
    const char *hint = expectation(shape);
    if (json.type == jbvNull && allows_null(shape))
        return Value{.given = true, .count = 0, .items = nullptr};
    if (json.type == jbvString && allows_string(shape)) {
        Value value{.given = true, .count = 0, .items = static_cast<const char **>(palloc(sizeof(char *)))};
        add_item(&value, json, key, hint);
        return value;
    }
    if (!allows_array(shape))
        refuse_value(key, hint);

    const Value value = parse_array(json, key, hint);
    if (value.count == 0 && shape != Shape::column_list_or_empty)
        refuse_value(key, hint);
    return value;
}

void parse_verbs(const JsonbValue &json, Rule *rule)
{
    if (json.type != jbvBinary || !JsonContainerIsObject(json.val.binary.data))
        refuse_value(verbs_key, "It takes an object, such as {\"insert\": \"added\", \"update\": null}.");

    JsonbValue key;
    JsonbValue value;
    JsonbIterator *iterator = JsonbIteratorInit(json.val.binary.data);
    (void)JsonbIteratorNext(&iterator, &key, false);
    while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY) {
        (void)JsonbIteratorNext(&iterator, &value, true);
        const char *name = copy_string(key);
        const auto *known = std::find_if(std::begin(operation_names), std::end(operation_names),
                                         [&](const char *operation) { return strcmp(operation, name) == 0; });
        if (known == std::end(operation_names))
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("rule key \"verbs\" has no operation \"%s\"", name),
                    errhint("Known operations: insert, update, delete, truncate."));
        rule->verbs[known - operation_names] = parse_value(value, psprintf("verbs.%s", name), Shape::string_or_null);
    }
}

void parse_key(const char *name, const JsonbValue &json, Rule *rule)
{
    if (strcmp(name, verbs_key) == 0) {
        parse_verbs(json, rule);
        return;
    }
    for (const KeyDefinition &key : key_definitions) {
        if (strcmp(name, key.name) == 0) {
            rule->*key.value = parse_value(json, key.name, key.shape);
            return;
        }
    }
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown rule key \"%s\"", name),
            errhint("%s", known_keys()));
}

void refuse_contradictions(const Rule &rule)
{
    if (rule.columns.count > 0 && rule.exclude.count > 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("a rule takes \"columns\" or \"exclude\", not both"),
                errhint("Give the columns to capture, or those to leave out."));

    const auto not_captured = [&](Operation operation) {
        return rule.verb(operation).given && rule.verb(operation).count == 0;
    };
    if (not_captured(Operation::insert) && not_captured(Operation::update) && not_captured(Operation::remove))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the rule captures no change of any row"),
                errdetail("Its verbs for insert, update and delete are all null."),
                errhint("Leave a verb out to have its default; end the capture of a table with outbox.untrack()."));
}

void push_string(JsonbParseState **state, JsonbIteratorToken token, const char *string)
{
    JsonbValue value;
    value.type = jbvString;
    value.val.string.val = const_cast<char *>(string);
    value.val.string.len = static_cast<int>(strlen(string));
    pushJsonbValue(state, token, &value);
}

void push_value(JsonbParseState **state, const Value &value, bool as_array)
{
    if (value.count == 0) {
        JsonbValue null;
        null.type = jbvNull;
        pushJsonbValue(state, WJB_VALUE, &null);
    } else if (value.count == 1 && !as_array) {
        push_string(state, WJB_VALUE, value.items[0]);
    } else {
        pushJsonbValue(state, WJB_BEGIN_ARRAY, nullptr);
        for (int i = 0; i < value.count; i++)
            push_string(state, WJB_ELEM, value.items[i]);
        pushJsonbValue(state, WJB_END_ARRAY, nullptr);
    }
}

} // namespace

Rule parse_rule(Jsonb *json)
{
    if (!JB_ROOT_IS_OBJECT(json))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a rule must be a JSON object"),
                errhint("%s", known_keys()));

    Rule rule{};
    JsonbValue key;
    JsonbValue value;
    JsonbIterator *iterator = JsonbIteratorInit(&json->root);
    (void)JsonbIteratorNext(&iterator, &key, false);
    while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY) {
        (void)JsonbIteratorNext(&iterator, &value, true);
        parse_key(copy_string(key), value, &rule);
    }
    refuse_contradictions(rule);
    return rule;
}

Jsonb *rule_to_jsonb(const Rule &rule)
{
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (const KeyDefinition &key : key_definitions) {
        push_string(&state, WJB_KEY, key.name);
        push_value(&state, rule.*key.value, !allows_string(key.shape));
    }
    push_string(&state, WJB_KEY, verbs_key);
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (int i = 0; i < operation_count; i++) {
        push_string(&state, WJB_KEY, operation_names[i]);
        push_value(&state, rule.verbs[i], false);
    }
    pushJsonbValue(&state, WJB_END_OBJECT, nullptr);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

int column_keys(const Rule &rule, ColumnKey *keys)
{
    int count = 0;
    for (const KeyDefinition &key : key_definitions)
        if (holds_columns(key.shape))
            keys[count++] = ColumnKey{.name = key.name, .value = &(rule.*key.value)};
    Assert(count == column_key_count);
    return count;
}

} // namespace outbox::capture
