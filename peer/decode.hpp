#pragma once
// Packets read from their bytes, in both directions. Each function checks all of one packet and
// answers the first fault; on a fault the output is not to be used. Texts, payloads and property
// blocks are views into the packet's bytes. Nothing is allocated.

#include "peer/byte_queue.hpp"
#include "peer/packet.hpp"
#include "peer/properties.hpp"

#include <optional>

namespace mqcore::peer {

// One packet as it was cut out of the stream (framing.hpp).
struct Frame {
    PacketType type = PacketType::reserved;
    std::uint8_t flags = 0;     // lower half of the first byte
    Bytes body;                 // what the remaining length counts
    std::size_t wire_bytes = 0; // with the fixed header
};

struct ConnectView {
    Protocol protocol = Protocol::v311;
    std::string_view client_id;
    std::uint16_t keepalive_s = 0;
    bool is_clean = false; // Clean Session, Clean Start
    bool has_will = false;
    std::uint8_t will_qos = 0;
    bool will_retain = false;
    std::string_view will_topic;
    Bytes will_payload;
    std::optional<std::string_view> user_name;
    std::optional<Bytes> password;
    PropertyValues properties;
};

struct ConnackView {
    bool is_session_present = false;
    std::uint8_t code = 0; // return code (3.1.1) or reason code (5)
    PropertyValues properties;
};

struct PublishView {
    std::string_view topic;        // empty: use topic_alias
    std::uint16_t packet_id = 0;   // 0 at QoS 0
    std::uint16_t topic_alias = 0; // 0: none
    std::uint8_t qos = 0;
    bool is_dup = false;
    bool is_retained = false;
    Bytes properties; // checked
    Bytes payload;
};

// PUBACK, PUBREC, PUBREL, PUBCOMP.
struct AckView {
    std::uint16_t packet_id = 0;
    std::uint8_t reason_code = kSuccess;
    std::string_view reason_string;
};

// SUBSCRIBE and UNSUBSCRIBE: the filters are read one at a time with next_filter().
struct SubscribeView {
    std::uint16_t packet_id = 0;
    Bytes filters; // checked
    PropertyValues properties;
};
struct FilterView {
    std::string_view filter;
    std::uint8_t qos = 0;     // SUBSCRIBE only, as are the options of MQTT 5
    bool is_no_local = false; // 5 section 3.8.3.1
    bool is_retain_as_published = false;
    std::uint8_t retain_handling = 0;
};

// SUBACK and UNSUBACK: one code a filter (none in an UNSUBACK of 3.1.1).
struct SubackView {
    std::uint16_t packet_id = 0;
    Bytes codes;
    std::string_view reason_string;
};

// DISCONNECT and AUTH.
struct ReasonView {
    std::uint8_t reason_code = kSuccess;
    std::string_view reason_string;
};

// The protocol comes from the packet itself; every other packet is read by the connection's.
[[nodiscard]] Fault decode_connect(const Frame& frame, ConnectView& out);
[[nodiscard]] Fault decode_connack(const Frame& frame, Protocol protocol, ConnackView& out);
[[nodiscard]] Fault decode_publish(const Frame& frame, Protocol protocol, PublishView& out);
[[nodiscard]] Fault decode_ack(const Frame& frame, Protocol protocol, AckView& out);
[[nodiscard]] Fault decode_subscribe(const Frame& frame, Protocol protocol, SubscribeView& out);
[[nodiscard]] Fault decode_unsubscribe(const Frame& frame, Protocol protocol, SubscribeView& out);
[[nodiscard]] Fault decode_suback(const Frame& frame, Protocol protocol, SubackView& out);
[[nodiscard]] Fault decode_unsuback(const Frame& frame, Protocol protocol, SubackView& out);
[[nodiscard]] Fault decode_reason(const Frame& frame, Protocol protocol, ReasonView& out);
// PINGREQ and PINGRESP.
[[nodiscard]] Fault decode_empty(const Frame& frame);

// Takes the first filter off a checked SUBSCRIBE (`has_options`) or UNSUBSCRIBE; false: none left.
bool next_filter(Bytes& filters, bool has_options, FilterView& out);

// 3.1.1 section 4.7.1: '+' and '#' fill whole levels, '#' is the last one.
bool is_topic_filter(std::string_view filter);

} // namespace mqcore::peer
