#include "peer/properties.hpp"

#include "peer/wire.hpp"

#include <algorithm>

namespace mqcore::peer {
namespace {

enum class Kind : std::uint8_t { byte, two, four, variable, text, binary, pair };

constexpr std::uint32_t kInWill = 1; // bit 0: type 0 is no packet

constexpr std::uint32_t in(PacketType type) { return 1u << static_cast<unsigned>(type); }
template <class... Types>
constexpr std::uint32_t in(PacketType first, Types... rest) {
    return in(first) | in(rest...);
}

struct PropertyRow {
    Property property;
    Kind kind;
    std::uint32_t allowed_in;
    std::uint32_t lowest;
    std::uint32_t highest;
};

using enum PacketType;
constexpr std::uint32_t kAny = 0xFFFF'FFFF;

// 5 section 2.2.2.2, table 2-4, with the ranges of the sections that define each property.
constexpr PropertyRow kProperties[] = {
    {Property::payload_format_indicator, Kind::byte, in(publish) | kInWill, 0, 1},
    {Property::message_expiry_interval, Kind::four, in(publish) | kInWill, 0, kAny},
    {Property::content_type, Kind::text, in(publish) | kInWill, 0, kAny},
    {Property::response_topic, Kind::text, in(publish) | kInWill, 0, kAny},
    {Property::correlation_data, Kind::binary, in(publish) | kInWill, 0, kAny},
    {Property::subscription_identifier, Kind::variable, in(publish, subscribe), 1,
     kMaxRemainingLength},
    {Property::session_expiry_interval, Kind::four, in(connect, connack, disconnect), 0, kAny},
    {Property::assigned_client_identifier, Kind::text, in(connack), 0, kAny},
    {Property::server_keep_alive, Kind::two, in(connack), 0, kAny},
    {Property::authentication_method, Kind::text, in(connect, connack, auth), 0, kAny},
    {Property::authentication_data, Kind::binary, in(connect, connack, auth), 0, kAny},
    {Property::request_problem_information, Kind::byte, in(connect), 0, 1},
    {Property::will_delay_interval, Kind::four, kInWill, 0, kAny},
    {Property::request_response_information, Kind::byte, in(connect), 0, 1},
    {Property::response_information, Kind::text, in(connack), 0, kAny},
    {Property::server_reference, Kind::text, in(connack, disconnect), 0, kAny},
    {Property::reason_string, Kind::text,
     in(connack, puback, pubrec, pubrel, pubcomp, suback, unsuback, disconnect, auth), 0, kAny},
    {Property::receive_maximum, Kind::two, in(connect, connack), 1, kAny},
    {Property::topic_alias_maximum, Kind::two, in(connect, connack), 0, kAny},
    {Property::topic_alias, Kind::two, in(publish), 1, kAny},
    {Property::maximum_qos, Kind::byte, in(connack), 0, 1},
    {Property::retain_available, Kind::byte, in(connack), 0, 1},
    {Property::user_property, Kind::pair, kAny, 0, kAny},
    {Property::maximum_packet_size, Kind::four, in(connect, connack), 1, kAny},
    {Property::wildcard_subscription_available, Kind::byte, in(connack), 0, 1},
    {Property::subscription_identifier_available, Kind::byte, in(connack), 0, 1},
    {Property::shared_subscription_available, Kind::byte, in(connack), 0, 1},
};

// User properties repeat everywhere; a PUBLISH carries one identifier for each subscription that
// matched (5 section 3.3.2.3.8).
bool may_repeat(Property property, PacketType type) {
    return property == Property::user_property ||
           (property == Property::subscription_identifier && type == publish);
}

void read_value(Cursor& cursor, Kind kind, std::uint32_t& number, std::string_view& text) {
    switch (kind) {
    case Kind::byte:
        number = cursor.byte();
        break;
    case Kind::two:
        number = cursor.two();
        break;
    case Kind::four:
        number = cursor.four();
        break;
    case Kind::variable:
        number = cursor.variable();
        break;
    case Kind::text:
        text = cursor.text();
        break;
    case Kind::binary:
        cursor.binary();
        break;
    case Kind::pair:
        cursor.text();
        cursor.text();
        break;
    }
}

// Each property of a checked block as the bytes it takes.
std::vector<std::string_view> items_of(Bytes block) {
    std::vector<std::string_view> items;
    Cursor cursor(block);
    while (cursor.is_ok() && cursor.left()) {
        const std::size_t begin = block.size() - cursor.left();
        const std::uint32_t identifier = cursor.variable();
        const auto* row = std::ranges::find_if(kProperties, [&](const PropertyRow& candidate) {
            return static_cast<std::uint32_t>(candidate.property) == identifier;
        });
        if (row == std::end(kProperties))
            break;
        std::uint32_t number;
        std::string_view text;
        read_value(cursor, row->kind, number, text);
        const std::size_t end = block.size() - cursor.left();
        items.push_back(text_of(block.subspan(begin, end - begin)));
    }
    return items;
}

std::vector<std::string_view> sorted_items(Bytes block) {
    std::vector<std::string_view> items = items_of(block);
    std::ranges::sort(items);
    return items;
}

void pick(Property property, std::uint32_t number, std::string_view text, PropertyValues& values) {
    switch (property) {
    case Property::session_expiry_interval:
        values.session_expiry_interval = number;
        break;
    case Property::maximum_packet_size:
        values.maximum_packet_size = number;
        break;
    case Property::receive_maximum:
        values.receive_maximum = static_cast<std::uint16_t>(number);
        break;
    case Property::server_keep_alive:
        values.server_keep_alive = static_cast<std::uint16_t>(number);
        break;
    case Property::topic_alias:
        values.topic_alias = static_cast<std::uint16_t>(number);
        break;
    case Property::topic_alias_maximum:
        values.topic_alias_maximum = static_cast<std::uint16_t>(number);
        break;
    case Property::maximum_qos:
        values.maximum_qos = static_cast<std::uint8_t>(number);
        break;
    case Property::assigned_client_identifier:
        values.assigned_client_identifier = text;
        break;
    case Property::reason_string:
        values.reason_string = text;
        break;
    case Property::server_reference:
        values.server_reference = text;
        break;
    case Property::user_property:
        ++values.user_properties;
        break;
    case Property::subscription_identifier:
        ++values.subscription_identifiers;
        break;
    default:
        break;
    }
}

} // namespace

Fault read_properties(Bytes block, PacketType type, PropertyPlace place, PropertyValues& values) {
    const std::uint32_t here = place == PropertyPlace::will ? kInWill : in(type);
    std::uint64_t seen = 0;
    Cursor cursor(block);
    while (cursor.is_ok() && cursor.left()) {
        // Every identifier so far fits one byte, but it is a variable byte integer.
        const std::uint32_t identifier = cursor.variable();
        const auto* row = std::ranges::find_if(kProperties, [&](const PropertyRow& candidate) {
            return static_cast<std::uint32_t>(candidate.property) == identifier;
        });
        if (!cursor.is_ok())
            return cursor.fault();
        if (row == std::end(kProperties))
            return Fault::unknown_property;
        if (!(row->allowed_in & here))
            return Fault::misplaced_property;
        const std::uint64_t bit = std::uint64_t{1} << identifier;
        if ((seen & bit) && !may_repeat(row->property, type))
            return Fault::repeated_property;
        seen |= bit;

        std::uint32_t number = row->lowest;
        std::string_view text;
        read_value(cursor, row->kind, number, text);
        if (!cursor.is_ok())
            return cursor.fault();
        if (number < row->lowest || number > row->highest)
            return row->property == Property::topic_alias ? Fault::bad_topic_alias
                                                          : Fault::bad_property_value;
        pick(row->property, number, text, values);
    }
    return cursor.fault();
}

bool carries_properties(Bytes block, Bytes wanted) {
    return std::ranges::includes(sorted_items(block), sorted_items(wanted));
}

void copy_without(Bytes block, Property left_out, std::vector<std::uint8_t>& out) {
    out.clear();
    for (const std::string_view item : items_of(block))
        if (static_cast<std::uint8_t>(item.front()) != static_cast<std::uint8_t>(left_out))
            out.insert(out.end(), item.begin(), item.end());
}

std::vector<std::uint8_t> property_block(const measure::PublishProperties& properties) {
    PropertyWriter writer;
    const auto text = [&](Property property, const std::string& value) {
        if (!value.empty())
            writer.text(property, value);
    };
    text(Property::content_type, properties.content_type);
    text(Property::response_topic, properties.response_topic);
    text(Property::correlation_data, properties.correlation_data);
    for (const auto& [name, value] : properties.user)
        writer.pair(name, value);
    const Bytes block = writer.bytes();
    return {block.begin(), block.end()};
}

namespace {

void push_number(std::vector<std::uint8_t>& block, std::uint32_t value, unsigned bytes) {
    while (bytes--)
        block.push_back(static_cast<std::uint8_t>(value >> 8 * bytes));
}

void push_text(std::vector<std::uint8_t>& block, std::string_view text) {
    push_number(block, static_cast<std::uint32_t>(text.size()), 2);
    block.insert(block.end(), text.begin(), text.end());
}

} // namespace

PropertyWriter& PropertyWriter::byte(Property property, std::uint8_t value) {
    block_.push_back(static_cast<std::uint8_t>(property));
    push_number(block_, value, 1);
    return *this;
}

PropertyWriter& PropertyWriter::two_bytes(Property property, std::uint16_t value) {
    block_.push_back(static_cast<std::uint8_t>(property));
    push_number(block_, value, 2);
    return *this;
}

PropertyWriter& PropertyWriter::four_bytes(Property property, std::uint32_t value) {
    block_.push_back(static_cast<std::uint8_t>(property));
    push_number(block_, value, 4);
    return *this;
}

PropertyWriter& PropertyWriter::variable(Property property, std::uint32_t value) {
    block_.push_back(static_cast<std::uint8_t>(property));
    std::uint8_t bytes[4];
    block_.insert(block_.end(), bytes, put_variable(bytes, value));
    return *this;
}

PropertyWriter& PropertyWriter::text(Property property, std::string_view value) {
    block_.push_back(static_cast<std::uint8_t>(property));
    push_text(block_, value);
    return *this;
}

PropertyWriter& PropertyWriter::pair(std::string_view name, std::string_view value) {
    block_.push_back(static_cast<std::uint8_t>(Property::user_property));
    push_text(block_, name);
    push_text(block_, value);
    return *this;
}

} // namespace mqcore::peer
