#pragma once
// Cuts a byte stream into packets as the bytes arrive, however they were split. A packet is parsed
// where it lies: bytes move at most once, when a packet straddles the end of the buffer; a large one
// is read straight into a buffer of its size. The reader belongs to one connection and one thread.

#include "peer/byte_queue.hpp"
#include "peer/decode.hpp"
#include "peer/packet.hpp"

namespace mqcore::peer {

class PacketReader {
  public:
    static constexpr std::size_t kReadBytes = 256 * 1024; // room for one read of a fast stream

    explicit PacketReader(Protocol protocol) : protocol_(protocol) {}

    // A server learns it from CONNECT.
    void set_protocol(Protocol protocol) { protocol_ = protocol; }
    // Largest packet to accept, fixed header included.
    void set_maximum_bytes(std::uint32_t bytes) { maximum_bytes_ = bytes; }

    // Where the next bytes of the stream go. Views of earlier packets end here.
    std::span<std::uint8_t> space();
    void filled(std::size_t count) { queue_.filled(count); }

    // Takes the next whole packet. False: more bytes are needed, or fault() says what is wrong.
    bool next(Frame& frame);
    Fault fault() const { return fault_; }
    // Bytes of a packet that has begun and is not whole yet.
    std::size_t pending_bytes() const { return queue_.size(); }

  private:
    bool fail(Fault fault) {
        fault_ = fault;
        return false;
    }

    ByteQueue queue_;
    Protocol protocol_;
    std::uint32_t maximum_bytes_ = kMaxPacketBytes;
    std::size_t wanted_ = 0; // size of the packet at the front, once its length is known
    Fault fault_ = Fault::none;
};

// 3.1.1 section 2.2.2: the flags that are fixed for each type but PUBLISH.
bool has_right_flags(PacketType type, std::uint8_t flags);

} // namespace mqcore::peer
