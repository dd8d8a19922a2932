#pragma once
// Properties of MQTT 5 (section 2.2.2): checked as a block while the known values are picked out.
// Texts and blobs are views into the packet.

#include "measure/specification.hpp"
#include "peer/byte_queue.hpp"
#include "peer/packet.hpp"

#include <optional>
#include <vector>

namespace mqcore::peer {

enum class Property : std::uint8_t {
    payload_format_indicator = 0x01,
    message_expiry_interval = 0x02,
    content_type = 0x03,
    response_topic = 0x08,
    correlation_data = 0x09,
    subscription_identifier = 0x0B,
    session_expiry_interval = 0x11,
    assigned_client_identifier = 0x12,
    server_keep_alive = 0x13,
    authentication_method = 0x15,
    authentication_data = 0x16,
    request_problem_information = 0x17,
    will_delay_interval = 0x18,
    request_response_information = 0x19,
    response_information = 0x1A,
    server_reference = 0x1C,
    reason_string = 0x1F,
    receive_maximum = 0x21,
    topic_alias_maximum = 0x22,
    topic_alias = 0x23,
    maximum_qos = 0x24,
    retain_available = 0x25,
    user_property = 0x26,
    maximum_packet_size = 0x27,
    wildcard_subscription_available = 0x28,
    subscription_identifier_available = 0x29,
    shared_subscription_available = 0x2A,
};

// The will properties inside CONNECT count as a place of their own.
enum class PropertyPlace : std::uint8_t { packet, will };

// What the peer acts upon or reports; every other property is checked and passed over.
struct PropertyValues {
    std::optional<std::uint32_t> session_expiry_interval;
    std::optional<std::uint32_t> maximum_packet_size;
    std::optional<std::uint16_t> receive_maximum;
    std::optional<std::uint16_t> server_keep_alive;
    std::optional<std::uint16_t> topic_alias;
    std::optional<std::uint16_t> topic_alias_maximum;
    std::optional<std::uint8_t> maximum_qos;
    std::string_view assigned_client_identifier;
    std::string_view reason_string;
    std::string_view server_reference;
    std::uint32_t user_properties = 0;          // how many
    std::uint32_t subscription_identifiers = 0; // how many
};

// `block` is the property block without its length.
[[nodiscard]] Fault read_properties(Bytes block, PacketType type, PropertyPlace place,
                                    PropertyValues& values);

// Builds a block without its length, in the order of the calls.
class PropertyWriter {
  public:
    PropertyWriter& byte(Property property, std::uint8_t value);
    PropertyWriter& two_bytes(Property property, std::uint16_t value);
    PropertyWriter& four_bytes(Property property, std::uint32_t value);
    PropertyWriter& variable(Property property, std::uint32_t value);
    PropertyWriter& text(Property property, std::string_view value);     // also binary data
    PropertyWriter& pair(std::string_view name, std::string_view value); // a user property

    Bytes bytes() const { return block_; }

  private:
    std::vector<std::uint8_t> block_;
};

// What a specification asks every PUBLISH to carry, as a block without its length; may be empty.
std::vector<std::uint8_t> property_block(const measure::PublishProperties& properties);

// The checked block without one property, in `out`: what is left of it when the packet goes on.
void copy_without(Bytes block, Property left_out, std::vector<std::uint8_t>& out);

// True when `block` carries every property of `wanted`, in whatever order and whatever else it has: a
// server may move them (section 2.2.2.2 gives no order). Both were checked by read_properties().
bool carries_properties(Bytes block, Bytes wanted);

} // namespace mqcore::peer
