#pragma once
// Packets over a link, in turns of bounded work: reads what is there, cuts it into packets, hands them
// on, writes what was encoded meanwhile. Client and broker side share it. Nothing blocks; what the
// transport does not take is written when it can. Must live as long as its io_context runs. One thread.

#include "peer/framing.hpp"
#include "peer/link.hpp"
#include "support/clock.hpp"

#include <optional>
#include <string>

namespace mqcore::peer {

using support::Nanoseconds;

class PacketStream {
  public:
    class Handler {
      public:
        // `now` is the clock after the read that completed the packet.
        virtual void on_packet(const Frame& frame, Nanoseconds now) = 0;
        // All packets of one turn have been handed on; the outgoing bytes are flushed next.
        virtual void on_turn_end() = 0;
        // The transport has taken bytes.
        virtual void on_written(Nanoseconds now) = 0;
        // A flush had found the transport full; now it has taken everything.
        virtual void on_drained() = 0;
        // The bytes are no packet. The stream is still open for a last word.
        virtual void on_fault(Fault fault) = 0;
        // The other side has closed the stream, or it broke; `how` is a clause for people, such as
        // "closed the connection (end of stream)".
        virtual void on_end(std::string how) = 0;

      protected:
        ~Handler() = default;
    };

    PacketStream(asio::io_context& io, Protocol protocol, Handler& handler)
        : io_(io), handler_(handler), reader_(protocol) {}

    // Takes the link; start_reading() begins the turns.
    Link& open(Link link) {
        link_.emplace(std::move(link));
        is_open_ = true;
        return *link_;
    }
    void start_reading();
    // Leaves what arrives in the kernel from now on, as a stalled application would. Packets that
    // were read already wait for start_reading().
    void stop_reading() { is_reading_ = false; }
    bool is_open() const { return is_open_; }
    Link& link() { return *link_; }
    PacketReader& reader() { return reader_; }

    // Where the caller encodes; flush() or the end of the turn sends it.
    ByteQueue& outgoing() { return outgoing_; }
    std::size_t unsent_bytes() const { return outgoing_.size(); }
    // Positions in the outgoing stream.
    std::uint64_t encoded_bytes() const { return written_bytes_ + outgoing_.size(); }
    std::uint64_t written_bytes() const { return written_bytes_; }
    void flush();
    // Writes what the transport takes at once and closes. Nothing is handed on any more.
    void close();

  private:
    void read_turn();
    bool hand_on_packets(Nanoseconds now);
    void arm_read();
    void write_outgoing();
    void read_last_words(const std::string& how);
    void end(std::string how);

    asio::io_context& io_;
    Handler& handler_;
    std::optional<Link> link_; // stays in place: its own handlers point to it
    PacketReader reader_;
    ByteQueue outgoing_;
    std::uint64_t written_bytes_ = 0;
    bool is_open_ = false;
    bool is_reading_ = false;
    bool is_read_armed_ = false;
    bool has_held_packets_ = false; // stop_reading() may have left some in the reader
    bool is_write_armed_ = false;
};

} // namespace mqcore::peer
