#pragma once
// Sends to the client under test by the schedule: at a fixed rate or as fast as the transport takes
// it. Each message is stamped right before it is encoded, and never more than kMostUnsentBytes lie
// encoded and unsent, so a stamp does not age in a queue of our own.

#include "measure/offer.hpp"
#include "measure/payload.hpp"
#include "peer/client_party.hpp"
#include "peer/publisher.hpp"

#include <optional>

namespace mqcore::peer {

class Source : public ClientParty {
  public:
    static constexpr std::size_t kMostUnsentBytes = 64 * 1024;

    // spec.send must be there, with topics and payload lengths.
    Source(asio::io_context& io, measure::PeerSpec spec, EventOut out);

  protected:
    void begin(const measure::Schedule& schedule) override;

  private:
    enum class State { idle, sleeping, waiting_for_slot, yielding, stopped };

    void pump();
    bool send_one(Nanoseconds now);
    void sleep_until(Nanoseconds at);
    void wait_for_slot();
    void resume();

    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) override {
        if (publisher_)
            publisher_->on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) override {
        if (publisher_)
            publisher_->on_written(now);
    }
    void on_turn_end() override { resume(); }
    void on_drained() override { resume(); }
    Json send_report() const override;

    bool can_send() const {
        return publisher_->has_slot() && client_.stream().unsent_bytes() < kMostUnsentBytes;
    }

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
