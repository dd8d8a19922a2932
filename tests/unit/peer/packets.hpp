#pragma once
// Bytes of MQTT packets for the codec's tests: written by hand, so that a mistake the encoder and the
// decoder share shows.

#include "peer/decode.hpp"
#include "peer/encode.hpp"
#include "peer/framing.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace mqcore::peer::tests {

using Octets = std::vector<std::uint8_t>;

// octets(0x10, 5, "MQTT"): numbers are bytes, texts are their letters.
inline void append(Octets& out, int byte) { out.push_back(static_cast<std::uint8_t>(byte)); }
inline void append(Octets& out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}
template <class... Parts>
Octets octets(Parts... parts) {
    Octets out;
    (append(out, parts), ...);
    return out;
}

inline Octets content(const ByteQueue& queue) {
    return {queue.data(), queue.data() + queue.size()};
}

inline void feed(PacketReader& reader, Bytes bytes) {
    const std::span<std::uint8_t> space = reader.space();
    std::copy(bytes.begin(), bytes.end(), space.begin());
    reader.filled(bytes.size());
}

// The one packet of these bytes; its views point into `bytes`.
inline Frame frame_of(const Octets& bytes, Protocol protocol) {
    static PacketReader reader(protocol); // keeps the packet's bytes
    reader = PacketReader(protocol);
    feed(reader, bytes);
    Frame frame;
    if (!reader.next(frame) || reader.pending_bytes())
        frame = {};
    return frame;
}

} // namespace mqcore::peer::tests
