#include "packets.hpp"
#include "support/catch.hpp"

using namespace mqcore::peer;
using namespace mqcore::peer::tests;

// Each packet: its bytes by hand, the encoder's bytes, and what the decoder reads.

TEST_CASE("CONNECT of MQTT 3.1.1") {
    const Octets bytes =
        octets(0x10, 25, 0, 4, "MQTT", 4, 0xC2, 0, 60, 0, 2, "id", 0, 4, "user", 0, 3, "pwd");
    ByteQueue out;
    REQUIRE(encode_connect(out, {.protocol = Protocol::v311,
                                 .client_id = "id",
                                 .keepalive_s = 60,
                                 .is_clean = true,
                                 .user_name = "user",
                                 .password = "pwd",
                                 .properties = {}}));
    REQUIRE(content(out) == bytes);

    ConnectView connect;
    REQUIRE(decode_connect(frame_of(bytes, Protocol::v311), connect) == Fault::none);
    REQUIRE(connect.protocol == Protocol::v311);
    REQUIRE(connect.client_id == "id");
    REQUIRE(connect.keepalive_s == 60);
    REQUIRE(connect.is_clean);
    REQUIRE_FALSE(connect.has_will);
    REQUIRE(connect.user_name == "user");
    REQUIRE(text_of(*connect.password) == "pwd");
}

TEST_CASE("CONNECT of MQTT 5 with a will and properties on both") {
    const Octets bytes =
        octets(0x10, 42, 0, 4, "MQTT", 5, 0x2E, 0, 10, 6, 0x21, 0, 20, 0x22, 0, 3, // CONNECT's own
               0, 2, "id", 5, 0x18, 0, 0, 0, 9, 0, 6, "will/t", 0, 5, "gone!");
    ConnectView connect;
    REQUIRE(decode_connect(frame_of(bytes, Protocol::v5), connect) == Fault::none);
    REQUIRE(connect.protocol == Protocol::v5);
    REQUIRE(connect.properties.receive_maximum == 20);
    REQUIRE(connect.properties.topic_alias_maximum == 3);
    REQUIRE(connect.has_will);
    REQUIRE(connect.will_qos == 1);
    REQUIRE(connect.will_retain);
    REQUIRE(connect.will_topic == "will/t");
    REQUIRE(text_of(connect.will_payload) == "gone!");
}

TEST_CASE(
    "a CONNECT with a client id and password of 65,535 bytes survives; one byte more is refused") {
    const std::string longest(65'535, 'x');
    ByteQueue out;
    REQUIRE(encode_connect(
        out, {.client_id = longest, .user_name = "u", .password = longest, .properties = {}}));
    ConnectView connect;
    REQUIRE(decode_connect(frame_of(content(out), Protocol::v311), connect) == Fault::none);
    REQUIRE(connect.client_id == longest);
    REQUIRE(text_of(*connect.password) == longest);
    REQUIRE_FALSE(encode_connect(
        out, {.client_id = longest + "x", .user_name = {}, .password = {}, .properties = {}}));
}

TEST_CASE("a malformed CONNECT names its fault") {
    struct Row {
        Octets bytes;
        Fault fault;
    };
    const auto with_flags = [](int flags) {
        return octets(0x10, 12, 0, 4, "MQTT", 4, flags, 0, 60, 0, 0);
    };
    const Row rows[] = {
        {octets(0x10, 12, 0, 4, "MQTX", 4, 2, 0, 60, 0, 0), Fault::bad_protocol_name},
        {octets(0x10, 12, 0, 4, "MQTT", 3, 2, 0, 60, 0, 0), Fault::unknown_protocol_level},
        {with_flags(0x03), Fault::reserved_connect_flag},
        {with_flags(0x1E), Fault::qos_3},
        {with_flags(0x0A), Fault::bad_connect_flags}, // will QoS without will
        {with_flags(0x42), Fault::bad_connect_flags}, // password without user name
        {with_flags(0x06), Fault::truncated},         // a will that is not there
        {octets(0x10, 11, 0, 4, "MQTT", 4, 2, 0, 60, 0), Fault::truncated},
        {octets(0x10, 13, 0, 4, "MQTT", 4, 2, 0, 60, 0, 0, 0), Fault::trailing_bytes},
        {octets(0x10, 13, 0, 4, "MQTT", 4, 2, 0, 60, 0, 1, 0xFF), Fault::bad_utf8},
        {octets(0x10, 13, 0, 4, "MQTT", 4, 2, 0, 60, 0, 1, 0), Fault::null_in_text},
        {octets(0x10, 0), Fault::truncated},
    };
    for (const Row& row : rows) {
        ConnectView connect;
        const Fault fault = decode_connect(frame_of(row.bytes, Protocol::v311), connect);
        REQUIRE(name_of(fault) == name_of(row.fault));
    }
}

TEST_CASE("CONNACK in both protocols") {
    const Octets old_bytes = octets(0x20, 2, 1, 0);
    const Octets new_bytes = octets(0x20, 11, 0, 0, 8, 0x21, 0, 10, 0x27, 0, 0, 0x10, 0);
    ByteQueue out;
    encode_connack(out, Protocol::v311, {.is_session_present = true, .properties = {}});
    REQUIRE(content(out) == old_bytes);
    out.clear();
    const PropertyWriter properties = PropertyWriter()
                                          .two_bytes(Property::receive_maximum, 10)
                                          .four_bytes(Property::maximum_packet_size, 4096);
    encode_connack(out, Protocol::v5, {.properties = properties.bytes()});
    REQUIRE(content(out) == new_bytes);

    ConnackView connack;
    REQUIRE(decode_connack(frame_of(old_bytes, Protocol::v311), Protocol::v311, connack) ==
            Fault::none);
    REQUIRE(connack.is_session_present);
    connack = {};
    REQUIRE(decode_connack(frame_of(new_bytes, Protocol::v5), Protocol::v5, connack) ==
            Fault::none);
    REQUIRE(connack.properties.receive_maximum == 10);
    REQUIRE(connack.properties.maximum_packet_size == 4096u);

    // An old server refuses MQTT 5 in its own form.
    REQUIRE(decode_connack(frame_of(octets(0x20, 2, 0, 0x84), Protocol::v5), Protocol::v5,
                           connack) == Fault::none);
    REQUIRE(connack.code == 0x84);
    REQUIRE(decode_connack(frame_of(octets(0x20, 2, 2, 0), Protocol::v311), Protocol::v311,
                           connack) == Fault::bad_acknowledge_flags);
    REQUIRE(decode_connack(frame_of(octets(0x20, 2, 0, 6), Protocol::v311), Protocol::v311,
                           connack) == Fault::bad_reason_code);
    REQUIRE(decode_connack(frame_of(octets(0x20, 1, 0), Protocol::v311), Protocol::v311, connack) ==
            Fault::truncated);
}

TEST_CASE("PUBLISH at each QoS in both protocols") {
    struct Row {
        Protocol protocol;
        PublishFields fields;
        Octets bytes;
    };
    const Row rows[] = {
        {Protocol::v311, {.topic = "a/b", .properties = {}}, octets(0x30, 7, 0, 3, "a/b", "hi")},
        {Protocol::v311,
         {.topic = "a/b", .qos = 1, .packet_id = 0x1234, .properties = {}},
         octets(0x32, 9, 0, 3, "a/b", 0x12, 0x34, "hi")},
        {Protocol::v311,
         {.topic = "a/b",
          .qos = 2,
          .is_dup = true,
          .is_retained = true,
          .packet_id = 5,
          .properties = {}},
         octets(0x3D, 9, 0, 3, "a/b", 0, 5, "hi")},
        {Protocol::v5, {.topic = "a/b", .properties = {}}, octets(0x30, 8, 0, 3, "a/b", 0, "hi")},
        {Protocol::v5,
         {.topic = "a/b", .qos = 1, .packet_id = 5, .properties = {}},
         octets(0x32, 10, 0, 3, "a/b", 0, 5, 0, "hi")},
    };
    for (const Row& row : rows) {
        ByteQueue out;
        std::uint8_t* payload = encode_publish(out, row.protocol, row.fields, 2);
        REQUIRE(payload);
        std::memcpy(payload, "hi", 2);
        REQUIRE(content(out) == row.bytes);

        PublishView publish;
        REQUIRE(decode_publish(frame_of(row.bytes, row.protocol), row.protocol, publish) ==
                Fault::none);
        REQUIRE(publish.topic == row.fields.topic);
        REQUIRE(publish.qos == row.fields.qos);
        REQUIRE(publish.packet_id == row.fields.packet_id);
        REQUIRE(publish.is_dup == row.fields.is_dup);
        REQUIRE(publish.is_retained == row.fields.is_retained);
        REQUIRE(text_of(publish.payload) == "hi");
    }
}

TEST_CASE("PUBLISH with properties, an alias and an empty payload") {
    const PropertyWriter properties = PropertyWriter()
                                          .byte(Property::payload_format_indicator, 1)
                                          .text(Property::content_type, "text/plain")
                                          .pair("name", "value")
                                          .pair("name", "value")
                                          .variable(Property::subscription_identifier, 300)
                                          .variable(Property::subscription_identifier, 1)
                                          .two_bytes(Property::topic_alias, 3);
    ByteQueue out;
    REQUIRE(encode_publish(out, Protocol::v5, {.topic = "", .properties = properties.bytes()}, 0));
    PublishView publish;
    REQUIRE(decode_publish(frame_of(content(out), Protocol::v5), Protocol::v5, publish) ==
            Fault::none);
    REQUIRE(publish.topic.empty());
    REQUIRE(publish.topic_alias == 3);
    REQUIRE(publish.payload.empty());
    PropertyValues values;
    REQUIRE(read_properties(publish.properties, PacketType::publish, PropertyPlace::packet,
                            values) == Fault::none);
    REQUIRE(values.user_properties == 2);
    REQUIRE(values.subscription_identifiers == 2);
}

TEST_CASE("UTF-8 topics are taken when they are well-formed and refused when they are not") {
    struct Row {
        std::string topic;
        Fault fault;
    };
    const Row rows[] = {
        {"\xF0\x9F\x98\x80/\xE2\x82\xAC", Fault::none}, // four-byte code point
        {"\xEF\xBB\xBFt", Fault::none},                 // U+FEFF
        {std::string(65'535, 't'), Fault::none},        // the longest
        {std::string("a\0b", 3), Fault::null_in_text},  // U+0000
        {"\xED\xA0\x80", Fault::bad_utf8},              // lone surrogate
        {"\xC0\xAF", Fault::bad_utf8},                  // overlong '/'
        {"\xF4\x90\x80\x80", Fault::bad_utf8},          // above U+10FFFF
        {"a/+/b", Fault::wildcard_in_topic},
        {"a/#", Fault::wildcard_in_topic},
        {"", Fault::empty_topic},
    };
    for (const Row& row : rows) {
        ByteQueue out;
        REQUIRE(encode_publish(out, Protocol::v311, {.topic = row.topic, .properties = {}}, 0));
        PublishView publish;
        const Fault fault =
            decode_publish(frame_of(content(out), Protocol::v311), Protocol::v311, publish);
        REQUIRE(name_of(fault) == name_of(row.fault));
        if (fault == Fault::none)
            REQUIRE(publish.topic == row.topic);
    }
}

TEST_CASE("a malformed PUBLISH names its fault") {
    struct Row {
        Protocol protocol;
        Octets bytes;
        Fault fault;
    };
    const Row rows[] = {
        {Protocol::v311, octets(0x36, 5, 0, 1, "t", 0, 1), Fault::qos_3},
        {Protocol::v311, octets(0x38, 3, 0, 1, "t"), Fault::dup_at_qos_0},
        {Protocol::v311, octets(0x32, 5, 0, 1, "t", 0, 0), Fault::packet_id_zero},
        {Protocol::v311, octets(0x32, 4, 0, 1, "t", 0), Fault::truncated},
        {Protocol::v311, octets(0x30, 1, 0), Fault::truncated},
        {Protocol::v311, octets(0x30, 3, 0, 9, "t"), Fault::truncated},
        {Protocol::v5, octets(0x30, 3, 0, 1, "t"), Fault::truncated}, // no property length
        {Protocol::v5, octets(0x30, 4, 0, 1, "t", 5), Fault::truncated},
        {Protocol::v5, octets(0x30, 4, 0, 0, 0, "x"), Fault::empty_topic},
        {Protocol::v5, octets(0x30, 7, 0, 0, 3, 0x23, 0, 0, ""), Fault::truncated},
        {Protocol::v5, octets(0x30, 6, 0, 0, 3, 0x23, 0, 0), Fault::bad_topic_alias},
        {Protocol::v5, octets(0x30, 7, 0, 1, "t", 3, 0x21, 0, 1), Fault::misplaced_property},
        {Protocol::v5, octets(0x30, 6, 0, 1, "t", 2, 0x7E, 0), Fault::unknown_property},
    };
    for (const Row& row : rows) {
        PublishView publish;
        const Frame frame = frame_of(row.bytes, row.protocol);
        const Fault fault = frame.type == PacketType::reserved
                                ? Fault::truncated // the frame itself is not whole
                                : decode_publish(frame, row.protocol, publish);
        REQUIRE(name_of(fault) == name_of(row.fault));
    }
}

TEST_CASE("PUBACK, PUBREC, PUBREL and PUBCOMP in both protocols") {
    struct Row {
        PacketType type;
        int first;
        std::uint8_t failure;
    };
    const Row row =
        GENERATE(Row{PacketType::puback, 0x40, 0x87}, Row{PacketType::pubrec, 0x50, 0x97},
                 Row{PacketType::pubrel, 0x62, 0x92}, Row{PacketType::pubcomp, 0x70, 0x92});
    CAPTURE(name_of(row.type));
    ByteQueue out;
    AckView ack;
    encode_ack(out, Protocol::v311, row.type, 0x0102);
    REQUIRE(content(out) == octets(row.first, 2, 1, 2));
    REQUIRE(decode_ack(frame_of(content(out), Protocol::v311), Protocol::v311, ack) == Fault::none);
    REQUIRE(ack.packet_id == 0x0102);

    out.clear();
    encode_ack(out, Protocol::v5, row.type, 7, row.failure);
    REQUIRE(content(out) == octets(row.first, 3, 0, 7, row.failure));
    REQUIRE(decode_ack(frame_of(content(out), Protocol::v5), Protocol::v5, ack) == Fault::none);
    REQUIRE(ack.reason_code == row.failure);

    const Octets with_text = octets(row.first, 11, 0, 7, row.failure, 7, 0x1F, 0, 4, "nope");
    REQUIRE(decode_ack(frame_of(with_text, Protocol::v5), Protocol::v5, ack) == Fault::none);
    REQUIRE(ack.reason_string == "nope");

    const auto fault_of = [](const Octets& bytes, Protocol protocol) {
        AckView ignored;
        return decode_ack(frame_of(bytes, protocol), protocol, ignored);
    };
    REQUIRE(fault_of(octets(row.first, 2, 0, 0), Protocol::v311) == Fault::packet_id_zero);
    REQUIRE(fault_of(octets(row.first, 1, 0), Protocol::v311) == Fault::truncated);
    REQUIRE(fault_of(octets(row.first, 3, 0, 1, 0), Protocol::v311) == Fault::trailing_bytes);
    REQUIRE(fault_of(octets(row.first, 3, 0, 1, 0x8D), Protocol::v5) == Fault::bad_reason_code);
}

TEST_CASE("SUBSCRIBE and UNSUBSCRIBE") {
    const FilterFields filters[] = {{.filter = "a/+", .options = 1}, {.filter = "#", .options = 2}};
    ByteQueue out;
    REQUIRE(encode_subscribe(out, Protocol::v311, 10, filters));
    REQUIRE(content(out) == octets(0x82, 12, 0, 10, 0, 3, "a/+", 1, 0, 1, "#", 2));
    SubscribeView subscribe;
    FilterView filter;
    REQUIRE(decode_subscribe(frame_of(content(out), Protocol::v311), Protocol::v311, subscribe) ==
            Fault::none);
    REQUIRE(subscribe.packet_id == 10);
    REQUIRE(next_filter(subscribe.filters, true, filter));
    REQUIRE(filter.filter == "a/+");
    REQUIRE(filter.qos == 1);
    REQUIRE(next_filter(subscribe.filters, true, filter));
    REQUIRE(filter.filter == "#");
    REQUIRE(filter.qos == 2);
    REQUIRE_FALSE(next_filter(subscribe.filters, true, filter));

    out.clear();
    const PropertyWriter properties =
        PropertyWriter().variable(Property::subscription_identifier, 268'435'455);
    const FilterFields options[] = {{.filter = "t", .options = 0x2E}};
    REQUIRE(encode_subscribe(out, Protocol::v5, 1, options, properties.bytes()));
    subscribe = {};
    REQUIRE(decode_subscribe(frame_of(content(out), Protocol::v5), Protocol::v5, subscribe) ==
            Fault::none);
    REQUIRE(subscribe.properties.subscription_identifiers == 1);
    REQUIRE(next_filter(subscribe.filters, true, filter));
    REQUIRE(filter.qos == 2);
    REQUIRE(filter.is_no_local);
    REQUIRE(filter.is_retain_as_published);
    REQUIRE(filter.retain_handling == 2);

    out.clear();
    REQUIRE(encode_unsubscribe(out, Protocol::v5, 2, filters));
    REQUIRE(content(out) == octets(0xA2, 11, 0, 2, 0, 0, 3, "a/+", 0, 1, "#"));
    subscribe = {};
    REQUIRE(decode_unsubscribe(frame_of(content(out), Protocol::v5), Protocol::v5, subscribe) ==
            Fault::none);
    REQUIRE(next_filter(subscribe.filters, false, filter));
    REQUIRE(filter.filter == "a/+");
}

TEST_CASE("a malformed SUBSCRIBE names its fault") {
    struct Row {
        Protocol protocol;
        Octets bytes;
        Fault fault;
    };
    const Row rows[] = {
        {Protocol::v311, octets(0x82, 2, 0, 1), Fault::no_subscription},
        {Protocol::v311, octets(0x82, 6, 0, 0, 0, 1, "t", 0), Fault::packet_id_zero},
        {Protocol::v311, octets(0x82, 6, 0, 1, 0, 1, "t", 3), Fault::qos_3},
        {Protocol::v311, octets(0x82, 6, 0, 1, 0, 1, "t", 4), Fault::bad_subscription_options},
        {Protocol::v311, octets(0x82, 5, 0, 1, 0, 1, "t"), Fault::truncated},
        {Protocol::v311, octets(0x82, 5, 0, 1, 0, 0, 0), Fault::bad_filter},
        {Protocol::v311, octets(0x82, 7, 0, 1, 0, 2, "a#", 0), Fault::bad_filter},
        {Protocol::v311, octets(0x82, 8, 0, 1, 0, 3, "#/a", 0), Fault::bad_filter},
        {Protocol::v5, octets(0x82, 7, 0, 1, 0, 0, 1, "t", 0x30), Fault::bad_subscription_options},
        {Protocol::v5, octets(0x82, 7, 0, 1, 0, 0, 1, "t", 0x40), Fault::bad_subscription_options},
        {Protocol::v5, octets(0x82, 9, 0, 1, 2, 0x0B, 0, 0, 1, "t", 0), Fault::bad_property_value},
    };
    for (const Row& row : rows) {
        SubscribeView subscribe;
        const Fault fault =
            decode_subscribe(frame_of(row.bytes, row.protocol), row.protocol, subscribe);
        REQUIRE(name_of(fault) == name_of(row.fault));
    }
}

TEST_CASE("SUBACK and UNSUBACK") {
    const Octets codes = octets(0, 2, 0x80);
    ByteQueue out;
    SubackView suback;
    encode_suback(out, Protocol::v311, 3, codes);
    REQUIRE(content(out) == octets(0x90, 5, 0, 3, 0, 2, 0x80));
    REQUIRE(decode_suback(frame_of(content(out), Protocol::v311), Protocol::v311, suback) ==
            Fault::none);
    REQUIRE(Octets(suback.codes.begin(), suback.codes.end()) == codes);

    out.clear();
    encode_suback(out, Protocol::v5, 3, codes);
    REQUIRE(content(out) == octets(0x90, 6, 0, 3, 0, 0, 2, 0x80));
    REQUIRE(decode_suback(frame_of(content(out), Protocol::v5), Protocol::v5, suback) ==
            Fault::none);
    REQUIRE(decode_suback(frame_of(octets(0x90, 3, 0, 3, 0x87), Protocol::v311), Protocol::v311,
                          suback) == Fault::bad_reason_code);
    REQUIRE(decode_suback(frame_of(octets(0x90, 2, 0, 3), Protocol::v311), Protocol::v311,
                          suback) == Fault::no_subscription);

    out.clear();
    encode_unsuback(out, Protocol::v311, 4, octets(0));
    REQUIRE(content(out) == octets(0xB0, 2, 0, 4));
    REQUIRE(decode_unsuback(frame_of(content(out), Protocol::v311), Protocol::v311, suback) ==
            Fault::none);
    out.clear();
    encode_unsuback(out, Protocol::v5, 4, octets(0x11));
    REQUIRE(content(out) == octets(0xB0, 4, 0, 4, 0, 0x11));
    REQUIRE(decode_unsuback(frame_of(content(out), Protocol::v5), Protocol::v5, suback) ==
            Fault::none);
    REQUIRE(decode_unsuback(frame_of(octets(0xB0, 3, 0, 4, 0), Protocol::v311), Protocol::v311,
                            suback) == Fault::trailing_bytes);
}

TEST_CASE("PINGREQ, PINGRESP, DISCONNECT and AUTH") {
    ByteQueue out;
    encode_pingreq(out);
    encode_pingresp(out);
    encode_disconnect(out, Protocol::v311, 0x8E); // 3.1.1 has no place for the code
    encode_disconnect(out, Protocol::v5, 0x8E);
    encode_disconnect(out, Protocol::v5);
    REQUIRE(content(out) == octets(0xC0, 0, 0xD0, 0, 0xE0, 0, 0xE0, 1, 0x8E, 0xE0, 0));
    REQUIRE(decode_empty(frame_of(octets(0xD0, 0), Protocol::v311)) == Fault::none);
    REQUIRE(decode_empty(frame_of(octets(0xD0, 1, 0), Protocol::v311)) == Fault::trailing_bytes);

    ReasonView reason;
    const auto fault_of = [&](const Octets& bytes, Protocol protocol) {
        return decode_reason(frame_of(bytes, protocol), protocol, reason);
    };
    REQUIRE(fault_of(octets(0xE0, 0), Protocol::v5) == Fault::none);
    REQUIRE(reason.reason_code == kSuccess);
    REQUIRE(fault_of(octets(0xE0, 9, 0x8B, 7, 0x1F, 0, 4, "done"), Protocol::v5) == Fault::none);
    REQUIRE(reason.reason_code == 0x8B);
    REQUIRE(reason.reason_string == "done");
    REQUIRE(fault_of(octets(0xE0, 1, 0x01), Protocol::v5) == Fault::bad_reason_code);
    REQUIRE(fault_of(octets(0xE0, 1, 0x00), Protocol::v311) == Fault::trailing_bytes);
    REQUIRE(fault_of(octets(0xF0, 8, 0x18, 6, 0x15, 0, 3, "abc"), Protocol::v5) == Fault::none);
    REQUIRE(reason.reason_code == 0x18);
}

TEST_CASE("properties out of range, repeated or cut short are faults") {
    struct Row {
        PacketType type;
        Octets block;
        Fault fault;
    };
    const Row rows[] = {
        {PacketType::connack, octets(0x21, 0, 0), Fault::bad_property_value}, // receive maximum 0
        {PacketType::connack, octets(0x24, 2), Fault::bad_property_value},    // maximum QoS 2
        {PacketType::connack, octets(0x27, 0, 0, 0, 0), Fault::bad_property_value},
        {PacketType::connack, octets(0x21, 0, 1, 0x21, 0, 1), Fault::repeated_property},
        {PacketType::connack, octets(0x21, 0), Fault::truncated},
        {PacketType::connack, octets(0x26, 0, 1, "k"), Fault::truncated},
        {PacketType::connack, octets(0x26, 0, 1, "k", 0, 1, 0xFF), Fault::bad_utf8},
        {PacketType::connack, octets(0x80, 0x80, 0x80, 0x80, 0x01), Fault::length_of_five_bytes},
        {PacketType::subscribe, octets(0x0B, 0x80, 0x00), Fault::length_not_minimal},
        {PacketType::subscribe, octets(0x0B, 1, 0x0B, 2), Fault::repeated_property},
        {PacketType::publish, octets(0x0B, 1, 0x0B, 2), Fault::none},
        {PacketType::publish, octets(0x01, 2), Fault::bad_property_value},
        {PacketType::puback, octets(0x26, 0, 0, 0, 0, 0x26, 0, 0, 0, 0), Fault::none},
        {PacketType::puback, octets(0x01, 1), Fault::misplaced_property},
    };
    for (const Row& row : rows) {
        PropertyValues values;
        const Fault fault = read_properties(row.block, row.type, PropertyPlace::packet, values);
        REQUIRE(name_of(fault) == name_of(row.fault));
    }
}

TEST_CASE("reason codes and return codes are told in words") {
    REQUIRE(describe_reason(0x87) == "0x87 not authorized");
    REQUIRE(describe_reason(0x42) == "0x42");
    REQUIRE(describe_return_code(5) == "5 not authorized");
    REQUIRE(describe_return_code(99) == "99");
    REQUIRE(reason_code_for(Fault::packet_too_large) == kPacketTooLarge);
}
