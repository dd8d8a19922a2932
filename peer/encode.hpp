#pragma once
// Packets written to the end of a ByteQueue, in both directions. The caller keeps the limits: texts
// of at most 65,535 bytes and a remaining length of at most kMaxRemainingLength; a packet beyond them
// is refused (false, nothing written) where one can come from a specification.

#include "peer/byte_queue.hpp"
#include "peer/packet.hpp"

#include <optional>

namespace mqcore::peer {

struct ConnectFields {
    Protocol protocol = Protocol::v311;
    std::string_view client_id;
    std::uint16_t keepalive_s = 60;
    bool is_clean = true;
    std::optional<std::string_view> user_name;
    std::optional<std::string_view> password;
    Bytes properties; // MQTT 5, without its length
};

struct ConnackFields {
    bool is_session_present = false;
    std::uint8_t code = kSuccess;
    Bytes properties;
};

struct PublishFields {
    std::string_view topic;
    std::uint8_t qos = 0;
    bool is_dup = false;
    bool is_retained = false;
    std::uint16_t packet_id = 0; // left out at QoS 0
    Bytes properties;
};

struct FilterFields {
    std::string_view filter;
    std::uint8_t options = 0; // QoS in the lower two bits
};

[[nodiscard]] bool encode_connect(ByteQueue& out, const ConnectFields& fields);
void encode_connack(ByteQueue& out, Protocol protocol, const ConnackFields& fields);

// Everything up to the payload; the answer is where `payload_bytes` bytes of payload go, or null
// when the packet would be too large. Valid until the queue is touched again.
[[nodiscard]] std::uint8_t* encode_publish(ByteQueue& out, Protocol protocol,
                                           const PublishFields& fields, std::size_t payload_bytes);

// PUBACK, PUBREC, PUBREL, PUBCOMP: a reason code of success is left out (5 section 3.4.2.1).
void encode_ack(ByteQueue& out, Protocol protocol, PacketType type, std::uint16_t packet_id,
                std::uint8_t reason_code = kSuccess);

[[nodiscard]] bool encode_subscribe(ByteQueue& out, Protocol protocol, std::uint16_t packet_id,
                                    std::span<const FilterFields> filters, Bytes properties = {});
[[nodiscard]] bool encode_unsubscribe(ByteQueue& out, Protocol protocol, std::uint16_t packet_id,
                                      std::span<const FilterFields> filters);
void encode_suback(ByteQueue& out, Protocol protocol, std::uint16_t packet_id, Bytes codes);
void encode_unsuback(ByteQueue& out, Protocol protocol, std::uint16_t packet_id, Bytes codes);

void encode_pingreq(ByteQueue& out);
void encode_pingresp(ByteQueue& out);
// 3.1.1 knows neither reason codes nor a DISCONNECT of the server.
void encode_disconnect(ByteQueue& out, Protocol protocol, std::uint8_t reason_code = kSuccess);

} // namespace mqcore::peer
