#include "relay/options.hpp"

#include "relay/ordering_key.hpp"

#include "relay/cloud_event.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <string_view>

namespace outbox::relay {

namespace {

constexpr std::size_t max_short_string = 255; // AMQP shortstr

struct Key {
    std::string_view name;
    std::string_view json_types; // one, or several with " or " between them
    void (*set)(RelayOptions &, const Option &);
};

[[noreturn]] void refuse_length(const Option &option)
{
    throw OptionError("value of option \"" + option.key + "\" is too long", "AMQP allows at most 255 bytes.");
}

void check_length(const Option &option)
{
    if (option.text.size() > max_short_string)
        refuse_length(option);
}

int whole_number(const Option &option, const char *unit, int lowest, int highest)
{
    const char *end = option.text.data() + option.text.size();
    int number = 0;
    const auto parsed = std::from_chars(option.text.data(), end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end || number < lowest || number > highest)
        throw OptionError("invalid value for option \"" + option.key + "\": " + option.text,
                          "Use a whole number of " + std::string(unit) + " from " + std::to_string(lowest) + " to " +
                              std::to_string(highest) + ".");
    return number;
}

void set_exchange(RelayOptions &options, const Option &option)
{
    check_length(option);
    options.exchange = option.text;
}

void set_exchange_type(RelayOptions &options, const Option &option)
{
    check_length(option);
    if (option.text.empty())
        throw OptionError(
            "option \"exchange_type\" must not be empty",
            "Use topic, fanout, direct, headers, or the name of a type that a plugin of the broker brings.");
    options.exchange_type = option.text;
}

void set_declare(RelayOptions &options, const Option &option)
{
    options.declare = option.text == "true";
}

void set_lease(RelayOptions &options, const Option &option)
{
    options.lease = option.text == "true";
}

void set_routing_key(RelayOptions &options, const Option &option)
{
    options.routing_key = EventTemplate::parse(option.text, option.key);
    if (options.routing_key.expand({}).size() > max_short_string)
        refuse_length(option);
}

void set_source(RelayOptions &options, const Option &option)
{
    check_length(option);
    if (!is_uri_reference(option.text))
        throw OptionError("invalid value for option \"source\": \"" + option.text + "\"",
                          "Use a URI reference, such as https://example.com/orders or /orders.");
    options.source = option.text;
}

EventTemplate number_template(const Option &option, const std::string &unit, std::uint64_t highest)
{
    EventTemplate parsed = EventTemplate::parse(option.text, option.key);
    if (parsed.constant() && !whole_number_of(parsed.expand({}), highest))
        throw OptionError("invalid value for option \"" + option.key + "\": " + option.text,
                          "Use a whole number" + unit + " from 0 to " + std::to_string(highest) +
                              ", or a template such as {headers." + option.key + "}.");
    return parsed;
}

void set_correlation_id(RelayOptions &options, const Option &option)
{
    options.correlation_id = EventTemplate::parse(option.text, option.key);
    if (options.correlation_id.expand({}).size() > max_short_string)
        refuse_length(option);
}

void set_expiration(RelayOptions &options, const Option &option)
{
    options.expiration = number_template(option, " of milliseconds", longest_expiration);
}

void set_priority(RelayOptions &options, const Option &option)
{
    options.priority = number_template(option, "", highest_priority);
}

void set_app_id(RelayOptions &options, const Option &option)
{
    check_length(option);
    options.app_id = option.text;
}

// One of the names, as the value in its place.
template <typename Value, std::size_t N>
Value choice(const Option &option, const std::array<std::string_view, N> &names)
{
    const auto *name = std::find(names.begin(), names.end(), option.text);
    if (name != names.end())
        return static_cast<Value>(name - names.begin());
    std::string list;
    for (const std::string_view known : names)
        list.append(list.empty() ? "" : known == names.back() ? " or " : ", ").append(known);
    throw OptionError("invalid value for option \"" + option.key + "\": \"" + option.text + "\"", "Use " + list + ".");
}

void set_body(RelayOptions &options, const Option &option)
{
    options.body = choice<Body>(option, body_names);
}

// A list of texts, or one text alone.
std::vector<std::string> texts_of(const Option &option)
{
    if (option.json_type == "string")
        return {option.text};
    std::vector<std::string> texts;
    for (const Option &item : option.items) {
        if (item.json_type != "string")
            throw OptionError("option \"" + option.key + "\" must be a list of strings, but has a " + item.json_type,
                              "For example: [\"order.*\", \"!order.draft\"].");
        texts.push_back(item.text);
    }
    return texts;
}

void set_event_types(RelayOptions &options, const Option &option)
{
    options.filter.event_types = PatternList(option.key, texts_of(option));
}

void set_entities(RelayOptions &options, const Option &option)
{
    options.filter.entities = PatternList(option.key, texts_of(option));
}

void set_initiator_types(RelayOptions &options, const Option &option)
{
    options.filter.initiator_types = PatternList(option.key, texts_of(option));
}

// The ranges of these are those of the settings.
void set_max_in_flight(RelayOptions &options, const Option &option)
{
    options.max_in_flight = whole_number(option, "messages", 1, 65'535);
}

void set_batch_size(RelayOptions &options, const Option &option)
{
    options.batch_size = whole_number(option, "events", 1, 100'000);
}

void set_batch_events(RelayOptions &options, const Option &option)
{
    options.batch_events = whole_number(option, "events", 1, 10'000);
}

void set_batch_body_size(RelayOptions &options, const Option &option)
{
    options.batch_body_size = whole_number(option, "bytes", 1, 512 * 1024 * 1024);
}

void set_linger(RelayOptions &options, const Option &option)
{
    options.linger = whole_number(option, "milliseconds", 0, 60'000);
}

void set_confirm_timeout(RelayOptions &options, const Option &option)
{
    options.confirm_timeout = whole_number(option, "milliseconds", 1'000, INT_MAX);
}

void set_max_attempts(RelayOptions &options, const Option &option)
{
    options.max_attempts = whole_number(option, "attempts", 1, 1'000'000);
}

void set_max_parked(RelayOptions &options, const Option &option)
{
    options.max_parked = whole_number(option, "events", 1, 10'000'000);
}

void set_unroutable_ttl(RelayOptions &options, const Option &option)
{
    options.unroutable_ttl = whole_number(option, "seconds", 1, INT_MAX);
}

void set_ordering(RelayOptions &options, const Option &option)
{
    options.ordering = choice<Ordering>(option, ordering_names);
}

void set_on_unroutable(RelayOptions &options, const Option &option)
{
    options.on_unroutable = choice<OnUnroutable>(option, on_unroutable_names);
}

void set_on_dead(RelayOptions &options, const Option &option)
{
    options.on_dead = choice<OnDead>(option, on_dead_names);
}

void set_lanes(RelayOptions &options, const Option &option)
{
    options.lanes = whole_number(option, "lanes", 1, max_lanes);
}

constexpr std::string_view text_or_list = "string or array"; // as texts_of() takes it

constexpr Key known_keys[] = {
    {"app_id", "string", set_app_id},
    {"batch_body_size", "number", set_batch_body_size},
    {"batch_events", "number", set_batch_events},
    {"batch_size", "number", set_batch_size},
    {"body", "string", set_body},
    {"confirm_timeout", "number", set_confirm_timeout},
    {"correlation_id", "string", set_correlation_id},
    {"declare", "boolean", set_declare},
    {"entities", text_or_list, set_entities},
    {"event_types", text_or_list, set_event_types},
    {"exchange", "string", set_exchange},
    {"exchange_type", "string", set_exchange_type},
    {"expiration", "number or string", set_expiration},
    {"initiator_types", text_or_list, set_initiator_types},
    {"lanes", "number", set_lanes},
    {"lease", "boolean", set_lease},
    {"linger", "number", set_linger},
    {"max_attempts", "number", set_max_attempts},
    {"max_in_flight", "number", set_max_in_flight},
    {"max_parked", "number", set_max_parked},
    {"on_dead", "string", set_on_dead},
    {"on_unroutable", "string", set_on_unroutable},
    {"ordering", "string", set_ordering},
    {"priority", "number or string", set_priority},
    {"routing_key", "string", set_routing_key},
    {"source", "string", set_source},
    {"unroutable_ttl", "number", set_unroutable_ttl},
};

std::string list_of_keys()
{
    std::string list;
    for (const Key &key : known_keys)
        list.append(list.empty() ? "" : ", ").append(key.name);
    return list;
}

} // namespace

std::optional<std::uint64_t> whole_number_of(std::string_view text, std::uint64_t highest)
{
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end || number > highest)
        return std::nullopt;
    return number;
}

RelayOptions parse_options(const std::vector<Option> &options)
{
    RelayOptions parsed;
    for (const Option &option : options) {
        const auto *key = std::find_if(std::begin(known_keys), std::end(known_keys),
                                       [&](const Key &k) { return k.name == option.key; });
        if (key == std::end(known_keys))
            throw OptionError("unknown option \"" + option.key + "\"", "Known options: " + list_of_keys() + ".");
        if (key->json_types.find(option.json_type) == std::string_view::npos)
            throw OptionError("option \"" + option.key + "\" must be of type " + std::string(key->json_types) +
                                  ", not " + option.json_type,
                              "null puts an option back to its default.");
        key->set(parsed, option);
    }
    return parsed;
}

} // namespace outbox::relay
