#pragma once
// Sends messages over one stream by the schedule: at a fixed rate or as fast as the transport takes
// them. Each message is stamped right before it is encoded, and never more than kMostUnsentBytes lie
// encoded and unsent, so a stamp does not age in a queue of our own. One thread.

#include "measure/offer.hpp"
#include "measure/payload.hpp"
#include "peer/publisher.hpp"
#include "support/result.hpp"

#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>

namespace mqcore::peer {

// An instant of CLOCK_MONOTONIC for asio; std::chrono::steady_clock is that clock on Linux.
inline std::chrono::steady_clock::time_point time_point_of(Nanoseconds at) {
    return std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(static_cast<std::int64_t>(at)));
}

class Sender {
  public:
    static constexpr std::size_t kMostUnsentBytes = 64 * 1024;
    using Failed = std::function<void(const support::Error&)>;

    // `spec` has topics and payload lengths.
    Sender(asio::io_context& io, const measure::SendSpec& spec, Failed failed);

    // From the schedule's start on; `stream` outlives it. receive_maximum: of the other side.
    void begin(PacketStream& stream, Protocol protocol, std::uint16_t receive_maximum,
               const measure::Schedule& schedule);

    // What the stream's handler passes on.
    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) {
        if (publisher_)
            publisher_->on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) {
        if (publisher_)
            publisher_->on_written(now);
    }
    // A turn has ended, or the transport has drained: there may be room again.
    void resume();

    support::Json report() const; // null before begin()

  private:
    enum class State { idle, sleeping, waiting_for_slot, yielding, stopped };

    void pump();
    bool send_one(Nanoseconds now);
    void sleep_until(Nanoseconds at);
    void wait_for_slot();
    bool can_send() const {
        return publisher_->has_slot() && stream_->unsent_bytes() < kMostUnsentBytes;
    }

    asio::io_context& io_;
    measure::SendSpec spec_;
    Failed failed_;
    PacketStream* stream_ = nullptr;
    measure::Schedule schedule_;
    std::optional<Publisher> publisher_;
    std::optional<measure::Offer> offer_;
    std::vector<std::vector<std::uint8_t>> payloads_; // prepared, one a length
    std::size_t topic_turn_ = 0;
    std::size_t payload_turn_ = 0;
    std::uint64_t limit_;
    State state_ = State::idle;
    asio::steady_timer timer_;
    measure::Histogram lag_;
    std::uint64_t slept_ = 0;
    std::uint64_t window_full_ = 0;
};

} // namespace mqcore::peer
