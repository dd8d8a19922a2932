#include "peer/packet.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace mqcore::peer {
namespace {

struct FaultRow {
    Fault fault;
    std::string_view name;
    std::string_view text;
    std::uint8_t reason_code;
};

constexpr FaultRow kFaults[] = {
    {Fault::none, "none", "no fault", kSuccess},
    {Fault::length_of_five_bytes, "length_of_five_bytes",
     "a remaining length of more than four bytes (3.1.1 section 2.2.3)", kMalformedPacket},
    {Fault::length_not_minimal, "length_not_minimal",
     "a variable byte integer longer than it needs to be (5 section 1.5.5)", kMalformedPacket},
    {Fault::packet_too_large, "packet_too_large", "a packet above the agreed size",
     kPacketTooLarge},
    {Fault::reserved_type, "reserved_type", "a reserved packet type (section 2.1.2)",
     kMalformedPacket},
    {Fault::wrong_flags, "wrong_flags", "wrong flags in the fixed header (section 2.1.3)",
     kMalformedPacket},
    {Fault::truncated, "truncated", "a packet shorter than its fields", kMalformedPacket},
    {Fault::trailing_bytes, "trailing_bytes", "bytes behind the last field", kMalformedPacket},
    {Fault::bad_utf8, "bad_utf8", "text that is not UTF-8 (section 1.5.4)", kMalformedPacket},
    {Fault::null_in_text, "null_in_text", "U+0000 in a text (section 1.5.4)", kMalformedPacket},
    {Fault::wildcard_in_topic, "wildcard_in_topic",
     "a wildcard in a topic name (5 section 3.3.2.1)", kMalformedPacket},
    {Fault::empty_topic, "empty_topic", "an empty topic without a topic alias (5 section 3.3.2.1)",
     kProtocolError},
    {Fault::bad_filter, "bad_filter", "a malformed topic filter (section 4.7.1)", kMalformedPacket},
    {Fault::packet_id_zero, "packet_id_zero", "packet identifier 0 (section 2.2.1)",
     kProtocolError},
    {Fault::qos_3, "qos_3", "QoS 3 (section 3.3.1.2)", kMalformedPacket},
    {Fault::dup_at_qos_0, "dup_at_qos_0", "the DUP flag at QoS 0 (section 3.3.1.1)",
     kProtocolError},
    {Fault::unknown_property, "unknown_property", "an unknown property (5 section 2.2.2.2)",
     kMalformedPacket},
    {Fault::misplaced_property, "misplaced_property",
     "a property that this packet may not carry (5 section 2.2.2.2)", kProtocolError},
    {Fault::repeated_property, "repeated_property", "a property given twice (5 section 2.2.2)",
     kProtocolError},
    {Fault::bad_property_value, "bad_property_value", "a property value outside its range",
     kProtocolError},
    {Fault::bad_reason_code, "bad_reason_code", "a reason code that this packet may not carry",
     kProtocolError},
    {Fault::no_subscription, "no_subscription", "a packet without any topic filter or reason code",
     kProtocolError},
    {Fault::bad_subscription_options, "bad_subscription_options",
     "reserved bits in subscription options (section 3.8.3)", kMalformedPacket},
    {Fault::bad_protocol_name, "bad_protocol_name", "a protocol name that is not MQTT",
     kMalformedPacket},
    {Fault::unknown_protocol_level, "unknown_protocol_level",
     "a protocol level other than 4 and 5 (section 3.1.2.2)", 0x84},
    {Fault::reserved_connect_flag, "reserved_connect_flag",
     "the reserved flag of CONNECT (section 3.1.2.3)", kMalformedPacket},
    {Fault::bad_connect_flags, "bad_connect_flags",
     "CONNECT flags that contradict each other (section 3.1.2)", kMalformedPacket},
    {Fault::bad_acknowledge_flags, "bad_acknowledge_flags",
     "reserved acknowledge flags of CONNACK (section 3.2.2.1)", kMalformedPacket},
    {Fault::bad_topic_alias, "bad_topic_alias",
     "a topic alias that is 0, unknown or above the maximum (5 section 3.3.2.3.4)",
     kTopicAliasInvalid},
    {Fault::unexpected_packet, "unexpected_packet",
     "a packet that the other side may not send, or not now", kProtocolError},
};

static_assert(std::size(kFaults) == static_cast<std::size_t>(Fault::unexpected_packet) + 1);

const FaultRow& row_of(Fault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

constexpr std::uint16_t in(PacketType type) {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(type));
}
template <class... Types>
constexpr std::uint16_t in(PacketType first, Types... rest) {
    return static_cast<std::uint16_t>(in(first) | in(rest...));
}

struct ReasonRow {
    std::uint8_t code;
    std::uint16_t allowed_in;
    std::string_view name;
};

using enum PacketType;

// 5 section 2.4, table 2-6.
constexpr ReasonRow kReasons[] = {
    {0x00, in(connack, puback, pubrec, pubrel, pubcomp, suback, unsuback, disconnect, auth),
     "success"},
    {0x01, in(suback), "granted QoS 1"},
    {0x02, in(suback), "granted QoS 2"},
    {0x04, in(disconnect), "disconnect with will message"},
    {0x10, in(puback, pubrec), "no matching subscribers"},
    {0x11, in(unsuback), "no subscription existed"},
    {0x18, in(auth), "continue authentication"},
    {0x19, in(auth), "re-authenticate"},
    {0x80, in(connack, puback, pubrec, suback, unsuback, disconnect), "unspecified error"},
    {0x81, in(connack, disconnect), "malformed packet"},
    {0x82, in(connack, disconnect), "protocol error"},
    {0x83, in(connack, puback, pubrec, suback, unsuback, disconnect),
     "implementation specific error"},
    {0x84, in(connack), "unsupported protocol version"},
    {0x85, in(connack), "client identifier not valid"},
    {0x86, in(connack), "bad user name or password"},
    {0x87, in(connack, puback, pubrec, suback, unsuback, disconnect), "not authorized"},
    {0x88, in(connack), "server unavailable"},
    {0x89, in(connack, disconnect), "server busy"},
    {0x8A, in(connack), "banned"},
    {0x8B, in(disconnect), "server shutting down"},
    {0x8C, in(connack, disconnect), "bad authentication method"},
    {0x8D, in(disconnect), "keep alive timeout"},
    {0x8E, in(disconnect), "session taken over"},
    {0x8F, in(suback, unsuback, disconnect), "topic filter invalid"},
    {0x90, in(connack, puback, pubrec, disconnect), "topic name invalid"},
    {0x91, in(puback, pubrec, suback, unsuback), "packet identifier in use"},
    {0x92, in(pubrel, pubcomp), "packet identifier not found"},
    {0x93, in(disconnect), "receive maximum exceeded"},
    {0x94, in(disconnect), "topic alias invalid"},
    {0x95, in(connack, disconnect), "packet too large"},
    {0x96, in(disconnect), "message rate too high"},
    {0x97, in(connack, puback, pubrec, suback, disconnect), "quota exceeded"},
    {0x98, in(disconnect), "administrative action"},
    {0x99, in(connack, puback, pubrec, disconnect), "payload format invalid"},
    {0x9A, in(connack, disconnect), "retain not supported"},
    {0x9B, in(connack, disconnect), "QoS not supported"},
    {0x9C, in(connack, disconnect), "use another server"},
    {0x9D, in(connack, disconnect), "server moved"},
    {0x9E, in(suback, disconnect), "shared subscriptions not supported"},
    {0x9F, in(connack, disconnect), "connection rate exceeded"},
    {0xA0, in(disconnect), "maximum connect time"},
    {0xA1, in(suback, disconnect), "subscription identifiers not supported"},
    {0xA2, in(suback, disconnect), "wildcard subscriptions not supported"},
};

const ReasonRow* find_reason(std::uint8_t code) {
    const auto* row = std::ranges::find(kReasons, code, &ReasonRow::code);
    return row == std::end(kReasons) ? nullptr : row;
}

} // namespace

std::string_view name_of(PacketType type) {
    constexpr std::string_view kNames[] = {"reserved",  "CONNECT",  "CONNACK",     "PUBLISH",
                                           "PUBACK",    "PUBREC",   "PUBREL",      "PUBCOMP",
                                           "SUBSCRIBE", "SUBACK",   "UNSUBSCRIBE", "UNSUBACK",
                                           "PINGREQ",   "PINGRESP", "DISCONNECT",  "AUTH"};
    return kNames[static_cast<std::size_t>(type) & 15];
}

std::string_view name_of(Fault fault) { return row_of(fault).name; }
std::string_view describe(Fault fault) { return row_of(fault).text; }
std::uint8_t reason_code_for(Fault fault) { return row_of(fault).reason_code; }

bool is_reason_code_of(PacketType type, std::uint8_t code) {
    const ReasonRow* row = find_reason(code);
    return row && (row->allowed_in & in(type));
}

std::string describe_reason(std::uint8_t code) {
    const ReasonRow* row = find_reason(code);
    return row ? fmt::format("0x{:02X} {}", code, row->name) : fmt::format("0x{:02X}", code);
}

std::string describe_return_code(std::uint8_t code) {
    constexpr std::string_view kNames[] = {
        "accepted",           "unacceptable protocol version", "client identifier rejected",
        "server unavailable", "bad user name or password",     "not authorized"};
    return code < std::size(kNames) ? fmt::format("{} {}", code, kNames[code])
                                    : fmt::format("{}", code);
}

} // namespace mqcore::peer
