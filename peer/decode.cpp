#include "peer/decode.hpp"

#include "peer/wire.hpp"

namespace mqcore::peer {
namespace {

bool is_v5(Protocol protocol) { return protocol == Protocol::v5; }

Fault properties_of(Cursor& cursor, PacketType type, PropertyPlace place, PropertyValues& values) {
    const Bytes block = cursor.take_bytes(cursor.variable());
    if (!cursor.is_ok())
        return cursor.fault();
    return read_properties(block, type, place, values);
}

// The same, with the fault kept in the cursor.
void take_properties(Cursor& cursor, PacketType type, PropertyValues& values,
                     PropertyPlace place = PropertyPlace::packet) {
    if (const Fault fault = properties_of(cursor, type, place, values); fault != Fault::none)
        cursor.fail(fault);
}

std::uint16_t take_packet_id(Cursor& cursor) {
    const std::uint16_t id = cursor.two();
    if (cursor.is_ok() && id == 0)
        cursor.fail(Fault::packet_id_zero);
    return id;
}

// A topic name: text without wildcards. One pass over the bytes, because a sink meets one a message.
std::string_view take_topic(Cursor& cursor) {
    const std::string_view topic = text_of(cursor.binary());
    bool is_plain = true;
    for (const char letter : topic) {
        if (letter == '+' || letter == '#') [[unlikely]]
            cursor.fail(Fault::wildcard_in_topic);
        if (letter == '\0') [[unlikely]]
            cursor.fail(Fault::null_in_text);
        is_plain &= static_cast<unsigned char>(letter) < 0x80;
    }
    if (!is_plain && !support::is_utf8(topic)) [[unlikely]]
        cursor.fail(Fault::bad_utf8);
    return topic;
}

Fault decode_filters(const Frame& frame, Protocol protocol, bool has_options, SubscribeView& out) {
    Cursor cursor(frame.body);
    out.packet_id = take_packet_id(cursor);
    if (is_v5(protocol))
        take_properties(cursor, frame.type, out.properties);
    if (!cursor.is_ok())
        return cursor.fault();
    out.filters = frame.body.last(cursor.left());
    if (out.filters.empty())
        return Fault::no_subscription; // 3.1.1 section 3.8.3
    while (cursor.is_ok() && cursor.left()) {
        const std::string_view filter = cursor.text();
        if (cursor.is_ok() && !is_topic_filter(filter))
            return Fault::bad_filter;
        if (!has_options)
            continue;
        const std::uint8_t options = cursor.byte();
        // 3.1.1 uses the QoS alone; 5 section 3.8.3.1 leaves two bits reserved.
        const bool is_reserved =
            is_v5(protocol) ? (options & 0xC0) || (options & 0x30) == 0x30 : (options & 0xFC) != 0;
        if (is_reserved)
            return Fault::bad_subscription_options;
        if ((options & 3) == 3)
            return Fault::qos_3;
    }
    return cursor.fault();
}

Fault decode_codes(const Frame& frame, Protocol protocol, SubackView& out) {
    Cursor cursor(frame.body);
    out.packet_id = take_packet_id(cursor);
    if (is_v5(protocol)) {
        PropertyValues values;
        take_properties(cursor, frame.type, values);
        out.reason_string = values.reason_string;
    }
    out.codes = cursor.take_bytes(cursor.left());
    return cursor.fault();
}

} // namespace

Fault decode_connect(const Frame& frame, ConnectView& out) {
    Cursor cursor(frame.body);
    const std::string_view name = text_of(cursor.binary());
    if (cursor.is_ok() && name != "MQTT")
        return Fault::bad_protocol_name; // section 3.1.2.1
    const std::uint8_t level = cursor.byte();
    if (cursor.is_ok() && level != 4 && level != 5)
        return Fault::unknown_protocol_level;
    out.protocol = level == 5 ? Protocol::v5 : Protocol::v311;

    const std::uint8_t flags = cursor.byte();
    if (flags & 0x01)
        return Fault::reserved_connect_flag;
    out.is_clean = flags & 0x02;
    out.has_will = flags & 0x04;
    out.will_qos = (flags >> 3) & 3;
    out.will_retain = flags & 0x20;
    if (out.will_qos == 3)
        return Fault::qos_3;
    if (!out.has_will && (out.will_qos || out.will_retain))
        return Fault::bad_connect_flags; // sections 3.1.2.6 and 3.1.2.7
    const bool has_password = flags & 0x40;
    const bool has_user_name = flags & 0x80;
    if (has_password && !has_user_name && !is_v5(out.protocol))
        return Fault::bad_connect_flags; // 3.1.1 section 3.1.2.9; 5 allows it

    out.keepalive_s = cursor.two();
    if (is_v5(out.protocol))
        take_properties(cursor, PacketType::connect, out.properties);
    out.client_id = cursor.text();
    if (out.has_will) {
        PropertyValues ignored;
        if (is_v5(out.protocol))
            take_properties(cursor, PacketType::connect, ignored, PropertyPlace::will);
        out.will_topic = take_topic(cursor);
        out.will_payload = cursor.binary();
        if (cursor.is_ok() && out.will_topic.empty())
            return Fault::empty_topic;
    }
    if (has_user_name)
        out.user_name = cursor.text();
    if (has_password)
        out.password = cursor.binary();
    return cursor.ended();
}

Fault decode_connack(const Frame& frame, Protocol protocol, ConnackView& out) {
    Cursor cursor(frame.body);
    const std::uint8_t flags = cursor.byte();
    if (flags & 0xFE)
        return Fault::bad_acknowledge_flags;
    out.is_session_present = flags & 0x01;
    out.code = cursor.byte();
    if (!cursor.is_ok())
        return cursor.fault();
    if (is_v5(protocol) ? !is_reason_code_of(PacketType::connack, out.code) : out.code > 5)
        return Fault::bad_reason_code;
    // A server that does not speak MQTT 5 may refuse in the form of 3.1.1, without properties.
    if (is_v5(protocol) && !(cursor.left() == 0 && is_failure(out.code)))
        take_properties(cursor, PacketType::connack, out.properties);
    return cursor.ended();
}

Fault decode_publish(const Frame& frame, Protocol protocol, PublishView& out) {
    out.is_dup = frame.flags & 0x08;
    out.qos = (frame.flags >> 1) & 3;
    out.is_retained = frame.flags & 0x01;
    if (out.qos == 3)
        return Fault::qos_3;
    if (out.is_dup && out.qos == 0)
        return Fault::dup_at_qos_0;
    Cursor cursor(frame.body);
    out.topic = take_topic(cursor);
    out.packet_id = out.qos ? take_packet_id(cursor) : std::uint16_t{0};
    out.topic_alias = 0;
    out.properties = {};
    if (is_v5(protocol)) {
        out.properties = cursor.take_bytes(cursor.variable());
        if (!out.properties.empty()) {
            PropertyValues values;
            const Fault fault =
                read_properties(out.properties, PacketType::publish, PropertyPlace::packet, values);
            if (fault != Fault::none)
                return fault;
            out.topic_alias = values.topic_alias.value_or(0);
        }
    }
    if (cursor.is_ok() && out.topic.empty() && out.topic_alias == 0)
        return Fault::empty_topic;
    out.payload = cursor.take_bytes(cursor.left());
    return cursor.fault();
}

Fault decode_ack(const Frame& frame, Protocol protocol, AckView& out) {
    Cursor cursor(frame.body);
    out = {};
    out.packet_id = take_packet_id(cursor);
    // 5 section 3.4.2.1: reason code and properties may be left out.
    if (is_v5(protocol) && cursor.left()) {
        out.reason_code = cursor.byte();
        if (!is_reason_code_of(frame.type, out.reason_code))
            return Fault::bad_reason_code;
        if (cursor.left()) {
            PropertyValues values;
            take_properties(cursor, frame.type, values);
            out.reason_string = values.reason_string;
        }
    }
    return cursor.ended();
}

Fault decode_subscribe(const Frame& frame, Protocol protocol, SubscribeView& out) {
    return decode_filters(frame, protocol, true, out);
}

Fault decode_unsubscribe(const Frame& frame, Protocol protocol, SubscribeView& out) {
    return decode_filters(frame, protocol, false, out);
}

Fault decode_suback(const Frame& frame, Protocol protocol, SubackView& out) {
    if (const Fault fault = decode_codes(frame, protocol, out); fault != Fault::none)
        return fault;
    for (const std::uint8_t code : out.codes)
        if (is_v5(protocol) ? !is_reason_code_of(PacketType::suback, code)
                            : code > 2 && code != kUnspecifiedError)
            return Fault::bad_reason_code;
    return out.codes.empty() ? Fault::no_subscription : Fault::none;
}

Fault decode_unsuback(const Frame& frame, Protocol protocol, SubackView& out) {
    if (const Fault fault = decode_codes(frame, protocol, out); fault != Fault::none)
        return fault;
    if (!is_v5(protocol))
        return out.codes.empty() ? Fault::none : Fault::trailing_bytes; // 3.1.1 section 3.11
    for (const std::uint8_t code : out.codes)
        if (!is_reason_code_of(PacketType::unsuback, code))
            return Fault::bad_reason_code;
    return out.codes.empty() ? Fault::no_subscription : Fault::none;
}

Fault decode_reason(const Frame& frame, Protocol protocol, ReasonView& out) {
    Cursor cursor(frame.body);
    out = {};
    // 5 sections 3.14.2.1 and 3.15.2.1: an empty body means success.
    if (is_v5(protocol) && cursor.left()) {
        out.reason_code = cursor.byte();
        if (!is_reason_code_of(frame.type, out.reason_code))
            return Fault::bad_reason_code;
        if (cursor.left()) {
            PropertyValues values;
            take_properties(cursor, frame.type, values);
            out.reason_string = values.reason_string;
        }
    }
    return cursor.ended();
}

Fault decode_empty(const Frame& frame) { return Cursor(frame.body).ended(); }

bool next_filter(Bytes& filters, bool has_options, FilterView& out) {
    if (filters.empty())
        return false;
    Cursor cursor(filters);
    out = {};
    out.filter = cursor.text();
    if (has_options) {
        const std::uint8_t options = cursor.byte();
        out.qos = options & 3;
        out.is_no_local = options & 0x04;
        out.is_retain_as_published = options & 0x08;
        out.retain_handling = (options >> 4) & 3;
    }
    filters = filters.last(cursor.left());
    return cursor.is_ok();
}

bool is_topic_filter(std::string_view filter) {
    if (filter.empty())
        return false;
    for (std::size_t at = 0; at < filter.size(); ++at) {
        if (filter[at] != '+' && filter[at] != '#')
            continue;
        const bool starts_level = at == 0 || filter[at - 1] == '/';
        const bool ends_level = at + 1 == filter.size() || filter[at + 1] == '/';
        if (!starts_level || !ends_level || (filter[at] == '#' && at + 1 != filter.size()))
            return false;
    }
    return true;
}

} // namespace mqcore::peer
