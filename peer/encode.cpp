#include "peer/encode.hpp"

#include "peer/wire.hpp"

namespace mqcore::peer {
namespace {

bool is_v5(Protocol protocol) { return protocol == Protocol::v5; }

std::size_t property_bytes(Protocol protocol, Bytes properties) {
    return is_v5(protocol)
               ? variable_bytes(static_cast<std::uint32_t>(properties.size())) + properties.size()
               : 0;
}

std::uint8_t* put_properties(std::uint8_t* at, Protocol protocol, Bytes properties) {
    if (!is_v5(protocol))
        return at;
    return put_bytes(put_variable(at, static_cast<std::uint32_t>(properties.size())), properties);
}

// Fixed header and room for the rest, which must fit the remaining length.
std::uint8_t* begin_packet(ByteQueue& out, PacketType type, std::uint8_t flags,
                           std::size_t remaining) {
    const auto length = static_cast<std::uint32_t>(remaining);
    std::uint8_t* at = out.extend(1 + variable_bytes(length) + remaining);
    at = put_byte(at, static_cast<std::uint8_t>(static_cast<unsigned>(type) << 4 | flags));
    return put_variable(at, length);
}

bool encode_filters(ByteQueue& out, Protocol protocol, PacketType type, std::uint16_t packet_id,
                    std::span<const FilterFields> filters, Bytes properties) {
    const bool has_options = type == PacketType::subscribe;
    std::size_t remaining = 2 + property_bytes(protocol, properties);
    for (const FilterFields& filter : filters)
        remaining += 2 + filter.filter.size() + (has_options ? 1 : 0);
    if (remaining > kMaxRemainingLength)
        return false;
    std::uint8_t* at = begin_packet(out, type, 0x02, remaining);
    at = put_properties(put_two(at, packet_id), protocol, properties);
    for (const FilterFields& filter : filters) {
        at = put_text(at, filter.filter);
        if (has_options)
            at = put_byte(at, filter.options);
    }
    return true;
}

} // namespace

bool encode_connect(ByteQueue& out, const ConnectFields& fields) {
    const std::size_t remaining = 10 + property_bytes(fields.protocol, fields.properties) + 2 +
                                  fields.client_id.size() +
                                  (fields.user_name ? 2 + fields.user_name->size() : 0) +
                                  (fields.password ? 2 + fields.password->size() : 0);
    const auto fits = [](std::string_view text) { return text.size() <= 0xFFFF; };
    if (!fits(fields.client_id) || !fits(fields.user_name.value_or("")) ||
        !fits(fields.password.value_or("")) || remaining > kMaxRemainingLength)
        return false;
    const unsigned flags = (fields.is_clean ? 0x02u : 0u) | (fields.password ? 0x40u : 0u) |
                           (fields.user_name ? 0x80u : 0u);
    std::uint8_t* at = begin_packet(out, PacketType::connect, 0, remaining);
    at = put_text(at, "MQTT");
    at = put_byte(at, is_v5(fields.protocol) ? 5 : 4);
    at = put_byte(at, static_cast<std::uint8_t>(flags));
    at = put_two(at, fields.keepalive_s);
    at = put_properties(at, fields.protocol, fields.properties);
    at = put_text(at, fields.client_id);
    if (fields.user_name)
        at = put_text(at, *fields.user_name);
    if (fields.password)
        put_text(at, *fields.password);
    return true;
}

void encode_connack(ByteQueue& out, Protocol protocol, const ConnackFields& fields) {
    std::uint8_t* at =
        begin_packet(out, PacketType::connack, 0, 2 + property_bytes(protocol, fields.properties));
    at = put_byte(at, fields.is_session_present ? 1 : 0);
    at = put_byte(at, fields.code);
    put_properties(at, protocol, fields.properties);
}

std::uint8_t* encode_publish(ByteQueue& out, Protocol protocol, const PublishFields& fields,
                             std::size_t payload_bytes) {
    const std::size_t remaining = 2 + fields.topic.size() + (fields.qos ? 2 : 0) +
                                  property_bytes(protocol, fields.properties) + payload_bytes;
    if (remaining > kMaxRemainingLength || fields.topic.size() > 0xFFFF)
        return nullptr;
    const unsigned flags = (fields.is_dup ? 0x08u : 0u) | static_cast<unsigned>(fields.qos) << 1 |
                           (fields.is_retained ? 0x01u : 0u);
    std::uint8_t* at =
        begin_packet(out, PacketType::publish, static_cast<std::uint8_t>(flags), remaining);
    at = put_text(at, fields.topic);
    if (fields.qos)
        at = put_two(at, fields.packet_id);
    return put_properties(at, protocol, fields.properties);
}

void encode_ack(ByteQueue& out, Protocol protocol, PacketType type, std::uint16_t packet_id,
                std::uint8_t reason_code) {
    const bool has_reason = is_v5(protocol) && reason_code != kSuccess;
    std::uint8_t* at =
        begin_packet(out, type, type == PacketType::pubrel ? 0x02 : 0, has_reason ? 3 : 2);
    at = put_two(at, packet_id);
    if (has_reason)
        put_byte(at, reason_code);
}

bool encode_subscribe(ByteQueue& out, Protocol protocol, std::uint16_t packet_id,
                      std::span<const FilterFields> filters, Bytes properties) {
    return encode_filters(out, protocol, PacketType::subscribe, packet_id, filters, properties);
}

bool encode_unsubscribe(ByteQueue& out, Protocol protocol, std::uint16_t packet_id,
                        std::span<const FilterFields> filters) {
    return encode_filters(out, protocol, PacketType::unsubscribe, packet_id, filters, {});
}

void encode_suback(ByteQueue& out, Protocol protocol, std::uint16_t packet_id, Bytes codes) {
    std::uint8_t* at =
        begin_packet(out, PacketType::suback, 0, 2 + property_bytes(protocol, {}) + codes.size());
    put_bytes(put_properties(put_two(at, packet_id), protocol, {}), codes);
}

void encode_unsuback(ByteQueue& out, Protocol protocol, std::uint16_t packet_id, Bytes codes) {
    const Bytes sent = is_v5(protocol) ? codes : Bytes{}; // 3.1.1 section 3.11 has no codes
    std::uint8_t* at =
        begin_packet(out, PacketType::unsuback, 0, 2 + property_bytes(protocol, {}) + sent.size());
    put_bytes(put_properties(put_two(at, packet_id), protocol, {}), sent);
}

void encode_pingreq(ByteQueue& out) { begin_packet(out, PacketType::pingreq, 0, 0); }
void encode_pingresp(ByteQueue& out) { begin_packet(out, PacketType::pingresp, 0, 0); }

void encode_disconnect(ByteQueue& out, Protocol protocol, std::uint8_t reason_code) {
    const bool has_reason = is_v5(protocol) && reason_code != kSuccess;
    std::uint8_t* at = begin_packet(out, PacketType::disconnect, 0, has_reason ? 1 : 0);
    if (has_reason)
        put_byte(at, reason_code);
}

} // namespace mqcore::peer
