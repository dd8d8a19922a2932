#pragma once
// Sends to the client under test by the schedule.

#include "peer/client_party.hpp"
#include "peer/sender.hpp"

namespace mqcore::peer {

class Source : public ClientParty {
  public:
    static constexpr std::size_t kMostUnsentBytes = Sender::kMostUnsentBytes;

    // spec.send must be there, with topics and payload lengths.
    Source(asio::io_context& io, measure::PeerSpec spec, EventOut out)
        : ClientParty(io, std::move(spec), std::move(out)),
          sender_(io, *spec_.send, [this](const support::Error& error) { say_failed(error); }) {}

  protected:
    void begin(const measure::Schedule& schedule) override {
        sender_.begin(client_.stream(), client_.protocol(), facts_.receive_maximum, schedule);
    }

  private:
    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) override {
        sender_.on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) override { sender_.on_written(now); }
    void on_turn_end() override { sender_.resume(); }
    void on_drained() override { sender_.resume(); }
    Json send_report() const override { return sender_.report(); }

    Sender sender_;
};

} // namespace mqcore::peer
