#include "peer/packet_stream.hpp"

#include <asio/post.hpp>

namespace mqcore::peer {
namespace {

using support::now_ns;

// A turn reads at most this often before timers and the control channel get theirs.
constexpr int kReadsPerTurn = 4;

} // namespace

void PacketStream::start_reading() {
    is_reading_ = true;
    has_held_packets_ = reader_.pending_bytes() > 0;
    arm_read();
}

void PacketStream::arm_read() {
    if (std::exchange(is_read_armed_, true))
        return;
    const auto turn = [this] {
        is_read_armed_ = false;
        read_turn();
    };
    // Neither packets of ours nor records that OpenSSL has decrypted make the socket readable.
    if (has_held_packets_ || link_->has_buffered_input())
        asio::post(io_, turn);
    else
        link_->when_readable(turn);
}

// --- measured path begins ---

void PacketStream::read_turn() {
    if (std::exchange(has_held_packets_, false) && !hand_on_packets(now_ns()))
        return;
    for (int reads = 0; reads < kReadsPerTurn && is_open_ && is_reading_; ++reads) {
        const std::span<std::uint8_t> space = reader_.space();
        const IoResult result = link_->read_some(space);
        if (result.state == IoResult::State::would_block)
            break;
        if (result.state == IoResult::State::closed)
            return end("closed the connection (" + link_->error_text() + ")");
        if (result.state == IoResult::State::failed)
            return end("broke the connection (" + link_->error_text() + ")");
        reader_.filled(result.bytes);
        // One clock read for all that this read has completed: the messages are in our memory now,
        // and how long we take to look at them is not part of their latency.
        if (!hand_on_packets(now_ns()))
            return;
        if (result.bytes < space.size() && !link_->has_buffered_input())
            break;
    }
    if (!is_open_)
        return;
    handler_.on_turn_end();
    flush();
    if (is_open_ && is_reading_)
        arm_read();
}

// False: the stream is no longer open.
bool PacketStream::hand_on_packets(Nanoseconds now) {
    Frame frame;
    while (is_open_ && is_reading_ && reader_.next(frame))
        handler_.on_packet(frame, now);
    if (is_open_ && reader_.fault() != Fault::none)
        handler_.on_fault(reader_.fault());
    return is_open_;
}

void PacketStream::flush() {
    if (is_open_ && !is_write_armed_ && !outgoing_.is_empty())
        write_outgoing();
}

void PacketStream::write_outgoing() {
    while (is_open_ && !outgoing_.is_empty()) {
        const IoResult result = link_->write_some(outgoing_.bytes());
        if (result.state == IoResult::State::would_block) {
            is_write_armed_ = true;
            link_->when_writable([this] {
                is_write_armed_ = false;
                write_outgoing();
                if (is_open_ && !is_write_armed_)
                    handler_.on_drained();
            });
            return;
        }
        if (result.state != IoResult::State::done) {
            // What the other side said before it went is the better reason; it may lie in the socket.
            // Not read here: the caller may be looking at a packet in the reader.
            is_write_armed_ = true;
            return asio::post(io_, [this, how = "broke the connection (" + link_->error_text() +
                                                " while writing)"] { read_last_words(how); });
        }
        outgoing_.consume(result.bytes);
        written_bytes_ += result.bytes;
        handler_.on_written(now_ns());
    }
}

// --- measured path ends ---

void PacketStream::read_last_words(const std::string& how) {
    while (is_open_ && is_reading_) {
        const IoResult result = link_->read_some(reader_.space());
        if (result.state == IoResult::State::failed)
            return end("broke the connection (" + link_->error_text() + ")");
        if (result.state != IoResult::State::done)
            break;
        reader_.filled(result.bytes);
        if (!hand_on_packets(now_ns()))
            return;
    }
    end(how);
}

void PacketStream::end(std::string how) {
    if (!std::exchange(is_open_, false))
        return;
    link_->close();
    handler_.on_end(std::move(how));
}

void PacketStream::close() {
    if (!std::exchange(is_open_, false))
        return;
    if (!is_write_armed_ && !outgoing_.is_empty())
        static_cast<void>(link_->write_some(outgoing_.bytes()));
    link_->close();
}

} // namespace mqcore::peer
