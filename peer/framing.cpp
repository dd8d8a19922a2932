#include "peer/framing.hpp"

#include <algorithm>

namespace mqcore::peer {

bool has_right_flags(PacketType type, std::uint8_t flags) {
    switch (type) {
    case PacketType::publish:
        return true;
    case PacketType::pubrel:
    case PacketType::subscribe:
    case PacketType::unsubscribe:
        return flags == 0x02;
    default:
        return flags == 0;
    }
}

std::span<std::uint8_t> PacketReader::space() {
    // A large packet has a block of its own size; asking for more at its end would copy all of it.
    return queue_.space(wanted_ > std::max(kReadBytes, queue_.size()) ? wanted_ - queue_.size()
                                                                      : kReadBytes);
}

bool PacketReader::next(Frame& frame) {
    const std::size_t size = queue_.size();
    if (size < 2 || fault_ != Fault::none)
        return false;
    const std::uint8_t* bytes = queue_.data();
    const auto type = static_cast<PacketType>(bytes[0] >> 4);
    const auto flags = static_cast<std::uint8_t>(bytes[0] & 0x0F);

    std::uint32_t remaining = bytes[1] & 0x7F;
    std::size_t header = 2;
    while (bytes[header - 1] & 0x80) {
        if (header == 5)
            return fail(Fault::length_of_five_bytes);
        if (size == header)
            return false;
        remaining |= static_cast<std::uint32_t>(bytes[header] & 0x7F) << (7 * (header - 1));
        ++header;
    }
    // Only MQTT 5 forbids a longer form than needed (5 section 1.5.5).
    if (header > 2 && bytes[header - 1] == 0 && protocol_ == Protocol::v5)
        return fail(Fault::length_not_minimal);
    if (type == PacketType::reserved || (type == PacketType::auth && protocol_ == Protocol::v311))
        return fail(Fault::reserved_type);
    if (!has_right_flags(type, flags))
        return fail(Fault::wrong_flags);
    const std::size_t whole = header + remaining;
    if (whole > maximum_bytes_)
        return fail(Fault::packet_too_large);
    if (size < whole) {
        wanted_ = whole;
        return false;
    }
    wanted_ = 0;
    frame = {
        .type = type, .flags = flags, .body = {bytes + header, remaining}, .wire_bytes = whole};
    queue_.consume(whole);
    return true;
}

} // namespace mqcore::peer
