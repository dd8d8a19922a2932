#pragma once
// The vocabulary of MQTT 3.1.1 and 5 that both directions share: packet types, limits, what can be
// wrong with a packet, and reason codes. "3.1.1" and "5" in comments cite the OASIS specifications.

#include "measure/specification.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mqcore::peer {

using measure::Protocol;

// 3.1.1 and 5, section 2.1: the upper half of a packet's first byte.
enum class PacketType : std::uint8_t {
    reserved = 0,
    connect = 1,
    connack = 2,
    publish = 3,
    puback = 4,
    pubrec = 5,
    pubrel = 6,
    pubcomp = 7,
    subscribe = 8,
    suback = 9,
    unsubscribe = 10,
    unsuback = 11,
    pingreq = 12,
    pingresp = 13,
    disconnect = 14,
    auth = 15, // 5 only
};

std::string_view name_of(PacketType type); // "CONNECT"

// 3.1.1 section 2.2.3: four bytes of seven bits.
constexpr std::uint32_t kMaxRemainingLength = 268'435'455;
constexpr std::uint32_t kMaxPacketBytes = kMaxRemainingLength + 5;
constexpr std::uint16_t kDefaultReceiveMaximum = 65'535; // 5 section 3.1.2.11.3

// What is wrong with a packet. The first fault met is the one reported.
enum class Fault : std::uint8_t {
    none,
    length_of_five_bytes,
    length_not_minimal,
    packet_too_large,
    reserved_type,
    wrong_flags,
    truncated,
    trailing_bytes,
    bad_utf8,
    null_in_text,
    wildcard_in_topic,
    empty_topic,
    bad_filter,
    packet_id_zero,
    qos_3,
    dup_at_qos_0,
    unknown_property,
    misplaced_property,
    repeated_property,
    bad_property_value,
    bad_reason_code,
    no_subscription,
    bad_subscription_options,
    bad_protocol_name,
    unknown_protocol_level,
    reserved_connect_flag,
    bad_connect_flags,
    bad_acknowledge_flags,
    bad_topic_alias,
    unexpected_packet,
};

std::string_view name_of(Fault fault);     // "length_of_five_bytes"
std::string_view describe(Fault fault);    // one clause with the section of the specification
std::uint8_t reason_code_for(Fault fault); // for a DISCONNECT of MQTT 5 (5 section 4.13)

// 5 section 2.4; codes below 0x80 are successes.
constexpr std::uint8_t kSuccess = 0x00;
constexpr std::uint8_t kNoSubscriptionExisted = 0x11;
constexpr std::uint8_t kUnspecifiedError = 0x80;
constexpr std::uint8_t kMalformedPacket = 0x81;
constexpr std::uint8_t kProtocolError = 0x82;
constexpr std::uint8_t kTopicAliasInvalid = 0x94;
constexpr std::uint8_t kPacketTooLarge = 0x95;
constexpr bool is_failure(std::uint8_t reason_code) { return reason_code >= 0x80; }

// May this packet carry this reason code?
bool is_reason_code_of(PacketType type, std::uint8_t code);
// "0x87 not authorized"; a code without a name stays a number.
std::string describe_reason(std::uint8_t code);
// 3.1.1 section 3.2.2.3: "5 not authorized".
std::string describe_return_code(std::uint8_t code);

} // namespace mqcore::peer
