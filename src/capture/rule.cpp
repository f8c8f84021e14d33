// The grammar of rules: the table of keys, and what follows from it (parsing, messages, the normal form).
#include "capture/rule.hpp"

#include "capture/jsonb_build.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
}

namespace outbox::capture {

namespace {

// The kinds of JSON that a key takes.
enum Accepts : std::uint8_t {
    null = 1 << 0,
    string = 1 << 1,
    array = 1 << 2, // of strings, at least one
    empty_array = 1 << 3,
    object = 1 << 4, // of strings, at least one
    boolean = 1 << 5,
    size = 1 << 6, // a positive integer
};

// What the strings are; of an object, its keys may be columns, too.
enum class Holds : std::uint8_t { text, columns, columns_as_keys };

struct Shape {
    std::uint8_t accepts;
    Holds holds;
    const char *expectation;
    const char *choices[3]; // of a string; the first is the default. None: any string that is not empty
};

constexpr Shape a_string{string, Holds::text, "It takes a string that is not empty.", {}};
constexpr Shape string_or_null{string | null, Holds::text, "It takes a string that is not empty, or null.", {}};
constexpr Shape sql_or_null{string | null, Holds::text, "It takes SQL as a string, or null.", {}};
constexpr Shape sql_by_name{object | null,
                            Holds::text,
                            "It takes an object of SQL strings by name, such as {\"total\": \"...\"}, or null.",
                            {}};
constexpr Shape column_or_null{string | null, Holds::columns, "It takes the name of a column, or null.", {}};
constexpr Shape columns{
    string | array, Holds::columns, "It takes the name of a column, or an array of names of columns.", {}};
constexpr Shape columns_or_null{
    string | array | null, Holds::columns, "It takes the name of a column, an array of names of columns, or null.", {}};
constexpr Shape column_list{array | null, Holds::columns, "It takes an array of names of columns, or null.", {}};
constexpr Shape column_list_or_empty{
    array | empty_array | null, Holds::columns, "It takes an array of names of columns, or null.", {}};
constexpr Shape flag{boolean, Holds::text, "It takes true or false.", {"true", "false"}};
constexpr Shape size_or_null{size | null, Holds::text, "It takes a number of bytes from 1 to 1073741823, or null.", {}};
constexpr Shape mask_by_column{
    object | null,
    Holds::columns_as_keys,
    "It takes an object such as {\"email\": \"sha256\"}, or null; the ways to mask a column are "
    "null, redact and sha256.",
    {"null", "redact", "sha256"}};
constexpr Shape number_style{string, Holds::text, "It takes \"number\" or \"string\".", {"number", "string"}};
constexpr Shape failure_policy{string, Holds::text, "It takes \"block\" or \"record\".", {"block", "record"}};
constexpr Shape oversize_policy{string, Holds::text, "It takes \"truncate\" or \"block\".", {"truncate", "block"}};

struct KeyDefinition {
    const char *name;
    Value Rule::*value;
    const Shape *shape;
};

// "verbs", an object of its own, is the one key beside these.
constexpr KeyDefinition key_definitions[] = {
    {"entity", &Rule::entity, &a_string},
    {"prefix", &Rule::prefix, &a_string},
    {"variant", &Rule::variant, &sql_or_null},
    {"entity_id", &Rule::entity_id, &columns},
    {"ordering_key", &Rule::ordering_key, &columns_or_null},
    {"condition", &Rule::condition, &sql_or_null},
    {"columns", &Rule::columns, &column_list},
    {"exclude", &Rule::exclude, &column_list_or_empty},
    {"watch", &Rule::watch, &column_list},
    {"mask", &Rule::mask, &mask_by_column},
    {"numbers", &Rule::numbers, &number_style},
    {"soft_delete", &Rule::soft_delete, &column_or_null},
    {"workspace_id", &Rule::workspace_id, &column_or_null},
    {"project_id", &Rule::project_id, &column_or_null},
    {"initiator_id", &Rule::initiator_id, &columns_or_null},
    {"initiator_type_setting", &Rule::initiator_type_setting, &string_or_null},
    {"schema_version", &Rule::schema_version, &string_or_null},
    {"enrich", &Rule::enrich, &sql_by_name},
    {"data_query", &Rule::data_query, &sql_or_null},
    {"previous_query", &Rule::previous_query, &sql_or_null},
    {"search_path", &Rule::search_path, &string_or_null},
    {"serialize", &Rule::serialize, &flag},
    {"max_event_size", &Rule::max_event_size, &size_or_null},
    {"on_oversize", &Rule::on_oversize, &oversize_policy},
    {"on_failure", &Rule::on_failure, &failure_policy},
};

constexpr const char *verbs_key = "verbs";
constexpr const char *operation_names[operation_count] = {"insert", "update", "delete", "truncate"};

bool takes(const Shape &shape, Accepts kind)
{
    return (shape.accepts & kind) != 0;
}

bool has_choices(const Shape &shape)
{
    return shape.choices[0] != nullptr;
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

Value room_for(int count, bool named)
{
    Value value{.given = true};
    value.items = static_cast<const char **>(palloc(sizeof(char *) * std::max(count, 1)));
    if (named)
        value.names = static_cast<const char **>(palloc(sizeof(char *) * std::max(count, 1)));
    return value;
}

bool is_choice(const Shape &shape, const char *item)
{
    return std::any_of(std::begin(shape.choices), std::end(shape.choices),
                       [&](const char *choice) { return choice != nullptr && strcmp(choice, item) == 0; });
}

// A non-empty JSON string, as the value's next item.
void add_item(Value *value, const JsonbValue &json, const char *key, const Shape &shape)
{
    if (json.type != jbvString || json.val.string.len == 0)
        refuse_value(key, shape.expectation);
    const char *item = copy_string(json);
    if (has_choices(shape) && !is_choice(shape, item))
        refuse_value(key, shape.expectation);
    value->items[value->count++] = item;
}

Value parse_array(JsonbContainer *json, const char *key, const Shape &shape)
{
    const int count = static_cast<int>(JsonContainerSize(json));
    if (count == 0 && !takes(shape, empty_array))
        refuse_value(key, shape.expectation);

    Value value = room_for(count, false);
    for (int i = 0; i < count; i++) {
        add_item(&value, *getIthJsonbValueFromContainer(json, i), key, shape);
        for (int earlier = 0; earlier < i; earlier++)
            if (strcmp(value.items[earlier], value.items[i]) == 0)
                ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("rule key \"%s\" names column \"%s\" twice", key, value.items[i]),
                        errhint("Name each column once."));
    }
    return value;
}

// Calls visit(name, value) for each member.
template <typename F>
void for_each_member(JsonbContainer *object, F &&visit)
{
    JsonbValue name;
    JsonbValue value;
    JsonbIterator *iterator = JsonbIteratorInit(object);
    (void)JsonbIteratorNext(&iterator, &name, false);
    while (JsonbIteratorNext(&iterator, &name, true) == WJB_KEY) {
        (void)JsonbIteratorNext(&iterator, &value, true);
        visit(copy_string(name), value);
    }
}

Value parse_object(JsonbContainer *json, const char *key, const Shape &shape)
{
    const int count = static_cast<int>(JsonContainerSize(json));
    if (count == 0)
        refuse_value(key, shape.expectation);

    Value value = room_for(count, true);
    for_each_member(json, [&](const char *name, const JsonbValue &item) {
        if (*name == '\0' || strlen(name) >= NAMEDATALEN)
            refuse_value(key, "Its names have 1 to 63 bytes.");
        value.names[value.count] = name;
        add_item(&value, item, psprintf("%s.%s", key, name), shape);
    });
    return value;
}

Value parse_size(const JsonbValue &json, const char *key, const Shape &shape)
{
    constexpr int largest = 1024 * 1024 * 1024 - 1; // of any value
    const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(json.val.numeric)));
    const std::size_t digits = strspn(text, "0123456789");
    if (text[digits] != '\0' || digits == 0 || digits > 10 || strtoll(text, nullptr, 10) < 1 ||
        strtoll(text, nullptr, 10) > largest)
        refuse_value(key, shape.expectation);
    return single_value(text);
}

Value parse_value(const JsonbValue &json, const char *key, const Shape &shape)
{
    if (json.type == jbvNull && takes(shape, null))
        return Value{.given = true};
    if (json.type == jbvBool && takes(shape, boolean))
        return single_value(json.val.boolean ? "true" : "false");
    if (json.type == jbvNumeric && takes(shape, size))
        return parse_size(json, key, shape);
    if (json.type == jbvString && takes(shape, string)) {
        Value value = room_for(1, false);
        add_item(&value, json, key, shape);
        return value;
    }
    if (json.type == jbvBinary && JsonContainerIsObject(json.val.binary.data) && takes(shape, object))
        return parse_object(json.val.binary.data, key, shape);
    if (json.type == jbvBinary && JsonContainerIsArray(json.val.binary.data) && takes(shape, array))
        return parse_array(json.val.binary.data, key, shape);
    refuse_value(key, shape.expectation);
}

void parse_verbs(const JsonbValue &json, Rule *rule)
{
    if (json.type != jbvBinary || !JsonContainerIsObject(json.val.binary.data))
        refuse_value(verbs_key, "It takes an object, such as {\"insert\": \"added\", \"update\": null}.");

    for_each_member(json.val.binary.data, [&](const char *name, const JsonbValue &verb) {
        const auto *known = std::find_if(std::begin(operation_names), std::end(operation_names),
                                         [&](const char *operation) { return strcmp(operation, name) == 0; });
        if (known == std::end(operation_names))
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("rule key \"verbs\" has no operation \"%s\"", name),
                    errhint("Known operations: insert, update, delete, truncate."));
        rule->verbs[known - operation_names] = parse_value(verb, psprintf("verbs.%s", name), string_or_null);
    });
}

void parse_key(const char *name, const JsonbValue &json, Rule *rule)
{
    if (strcmp(name, verbs_key) == 0) {
        parse_verbs(json, rule);
        return;
    }
    for (const KeyDefinition &key : key_definitions) {
        if (strcmp(name, key.name) == 0) {
            rule->*key.value = parse_value(json, key.name, *key.shape);
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

    if (rule.data_query.count > 0 && (rule.enrich.count > 0 || rule.mask.count > 0))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("a rule takes \"data_query\" or \"%s\", not both", rule.enrich.count > 0 ? "enrich" : "mask"),
                errhint("Let the query itself compute what data holds."));
}

// What does not depend on the table.
void complete_choices(Rule *rule)
{
    for (const KeyDefinition &key : key_definitions)
        if (!(rule->*key.value).given && has_choices(*key.shape) && key.shape->holds == Holds::text)
            rule->*key.value = single_value(key.shape->choices[0]);
}

void push_item(JsonbParseState **state, JsonbIteratorToken token, const Shape &shape, const char *item)
{
    JsonbValue value;
    if (takes(shape, boolean)) {
        value.type = jbvBool;
        value.val.boolean = strcmp(item, "true") == 0;
        pushJsonbValue(state, token, &value);
    } else if (takes(shape, size)) {
        value.type = jbvNumeric;
        value.val.numeric = DatumGetNumeric(
            DirectFunctionCall3(numeric_in, CStringGetDatum(item), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
        pushJsonbValue(state, token, &value);
    } else {
        push_string(state, token, item);
    }
}

void push_value(JsonbParseState **state, const Shape &shape, const Value &value)
{
    if (value.count == 0) {
        push_null(state);
    } else if (value.names != nullptr) {
        pushJsonbValue(state, WJB_BEGIN_OBJECT, nullptr);
        for (int i = 0; i < value.count; i++) {
            push_string(state, WJB_KEY, value.names[i]);
            push_item(state, WJB_VALUE, shape, value.items[i]);
        }
        pushJsonbValue(state, WJB_END_OBJECT, nullptr);
    } else if (value.count == 1 && (shape.accepts & (string | boolean | size)) != 0) {
        push_item(state, WJB_VALUE, shape, value.items[0]);
    } else {
        pushJsonbValue(state, WJB_BEGIN_ARRAY, nullptr);
        for (int i = 0; i < value.count; i++)
            push_item(state, WJB_ELEM, shape, value.items[i]);
        pushJsonbValue(state, WJB_END_ARRAY, nullptr);
    }
}

} // namespace

Value single_value(const char *item)
{
    Value value = room_for(1, false);
    value.items[value.count++] = item;
    return value;
}

Rule parse_rule(Jsonb *json)
{
    if (!JB_ROOT_IS_OBJECT(json))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a rule must be a JSON object"),
                errhint("%s", known_keys()));

    Rule rule{};
    for_each_member(&json->root, [&](const char *name, const JsonbValue &value) { parse_key(name, value, &rule); });
    complete_choices(&rule);
    refuse_contradictions(rule);
    return rule;
}

Jsonb *rule_to_jsonb(const Rule &rule)
{
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (const KeyDefinition &key : key_definitions) {
        push_string(&state, WJB_KEY, key.name);
        push_value(&state, *key.shape, rule.*key.value);
    }
    push_string(&state, WJB_KEY, verbs_key);
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (int i = 0; i < operation_count; i++) {
        push_string(&state, WJB_KEY, operation_names[i]);
        push_value(&state, string_or_null, rule.verbs[i]);
    }
    pushJsonbValue(&state, WJB_END_OBJECT, nullptr);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

int column_keys(const Rule &rule, ColumnKey *keys)
{
    int count = 0;
    for (const KeyDefinition &key : key_definitions) {
        const Value &value = rule.*key.value;
        if (key.shape->holds != Holds::text)
            keys[count++] = ColumnKey{.name = key.name,
                                      .count = value.count,
                                      .columns = key.shape->holds == Holds::columns ? value.items : value.names};
    }
    Assert(count == column_key_count);
    return count;
}

} // namespace outbox::capture
