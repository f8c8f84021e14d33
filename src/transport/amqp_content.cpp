#include "transport/amqp_content.hpp"

#include <string_view>
#include <type_traits>
#include <variant>

namespace outbox::transport {
namespace {

constexpr std::size_t short_string_max = 255;
constexpr std::size_t field_name_max = 128; // AMQP 0-9-1, 4.2.5.5

constexpr std::uint8_t persistent = 2;

amqp_field_value_t field(const HeaderValue &value)
{
    amqp_field_value_t field{};
    std::visit(
        [&field](const auto &content) {
            using Content = std::remove_cvref_t<decltype(content)>;
            if constexpr (std::is_same_v<Content, std::string>) {
                field.kind = AMQP_FIELD_KIND_UTF8;
                field.value.bytes = as_bytes(content);
            } else if constexpr (std::is_same_v<Content, std::int64_t>) {
                field.kind = AMQP_FIELD_KIND_I64;
                field.value.i64 = content;
            } else if constexpr (std::is_same_v<Content, double>) {
                field.kind = AMQP_FIELD_KIND_F64;
                field.value.f64 = content;
            } else {
                static_assert(std::is_same_v<Content, bool>);
                field.kind = AMQP_FIELD_KIND_BOOLEAN;
                field.value.boolean = static_cast<amqp_boolean_t>(content);
            }
        },
        value);
    return field;
}

std::size_t field_size(const HeaderValue &value)
{
    constexpr std::size_t kind = 1;
    if (const auto *text = std::get_if<std::string>(&value))
        return kind + 4 + text->size();
    return kind + (std::holds_alternative<bool>(value) ? 1 : 8);
}

std::size_t short_string_size(std::string_view text)
{
    return 1 + text.size();
}

std::string too_long(std::string_view what, std::size_t size, std::size_t limit)
{
    return std::string(what) + " of " + std::to_string(size) + " bytes is longer than " + std::to_string(limit) +
           " bytes";
}

} // namespace

std::size_t header_frame_size(const Message &message)
{
    constexpr std::size_t class_weight_size_flags = 2 + 2 + 8 + 2;
    constexpr std::size_t delivery_mode_and_timestamp = 1 + 8;
    std::size_t size = frame_overhead + class_weight_size_flags + delivery_mode_and_timestamp;
    size += message.priority ? 1 : 0;
    for (const std::string *text : {&message.content_type, &message.message_id, &message.type, &message.app_id,
                                    &message.correlation_id, &message.expiration})
        size += short_string_size(*text);
    size += 4;
    for (const auto &[name, value] : message.headers)
        size += short_string_size(name) + field_size(value);
    return size;
}

std::string unfit_for(const Message &message, std::size_t frame_max, std::size_t max_message_size)
{
    const std::pair<std::string_view, const std::string &> short_strings[] = {
        {"routing key", message.routing_key},   {"message type", message.type},
        {"message id", message.message_id},     {"application id", message.app_id},
        {"content type", message.content_type}, {"correlation id", message.correlation_id},
        {"expiration", message.expiration},
    };
    for (const auto &[what, text] : short_strings)
        if (text.size() > short_string_max)
            return too_long(what, text.size(), short_string_max);
    for (const auto &[name, value] : message.headers)
        if (name.size() > field_name_max)
            return too_long("header name", name.size(), field_name_max);
    if (const std::size_t size = header_frame_size(message); size > frame_max)
        return "headers and properties of " + std::to_string(size) + " bytes do not fit into a frame of " +
               std::to_string(frame_max) + " bytes";
    if (message.body.size() > max_message_size)
        return too_long("body", message.body.size(), max_message_size);
    return {};
}

amqp_basic_properties_t &ContentHeader::fill(const Message &message)
{
    entries_.clear();
    for (const auto &[name, value] : message.headers)
        entries_.push_back({as_bytes(name), field(value)});

    properties_ = {};
    properties_._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties_.delivery_mode = persistent;
    const auto set = [this](amqp_flags_t flag, amqp_bytes_t &property, const std::string &text) {
        if (text.empty())
            return;
        properties_._flags |= flag;
        property = as_bytes(text);
    };
    set(AMQP_BASIC_CONTENT_TYPE_FLAG, properties_.content_type, message.content_type);
    set(AMQP_BASIC_MESSAGE_ID_FLAG, properties_.message_id, message.message_id);
    set(AMQP_BASIC_TYPE_FLAG, properties_.type, message.type);
    set(AMQP_BASIC_APP_ID_FLAG, properties_.app_id, message.app_id);
    set(AMQP_BASIC_CORRELATION_ID_FLAG, properties_.correlation_id, message.correlation_id);
    set(AMQP_BASIC_EXPIRATION_FLAG, properties_.expiration, message.expiration);
    if (message.priority) {
        properties_._flags |= AMQP_BASIC_PRIORITY_FLAG;
        properties_.priority = *message.priority;
    }
    if (message.timestamp != 0) {
        properties_._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
        properties_.timestamp = message.timestamp;
    }
    if (!entries_.empty()) {
        properties_._flags |= AMQP_BASIC_HEADERS_FLAG;
        properties_.headers = {static_cast<int>(entries_.size()), entries_.data()};
    }
    return properties_;
}

} // namespace outbox::transport
