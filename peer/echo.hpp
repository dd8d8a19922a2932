#pragma once
// Sends each request of the client under test back to one reply topic.

#include "peer/client_party.hpp"
#include "peer/receipts.hpp"
#include "peer/replier.hpp"

namespace mqcore::peer {

class Echo final : public ClientParty {
  public:
    static constexpr std::size_t kMostQueuedBytes = Replier::kMostQueuedBytes;

    // spec.receive and spec.send must be there.
    Echo(asio::io_context& io, measure::PeerSpec spec, EventOut out)
        : ClientParty(io, std::move(spec), std::move(out)), receipts_(*spec_.receive),
          replier_(*spec_.send, [this](const support::Error& error) { say_failed(error); }) {}

  private:
    void begin(const measure::Schedule& schedule) override {
        receipts_.begin(schedule);
        replier_.begin(client_.stream(), client_.protocol(), facts_.receive_maximum, schedule);
    }
    void on_publish(const PublishView& publish, Nanoseconds now) override {
        // A message of another run is no request. A damaged or doubled one is answered as it is: the
        // client's side must see it too.
        if (receipts_.record(publish, now) != measure::ArrivalRecorder::Verdict::stray)
            replier_.answer(publish.payload);
    }
    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) override {
        replier_.on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) override { replier_.on_written(now); }
    void on_turn_end() override { replier_.send_queued(); }
    void on_drained() override {
        replier_.send_queued();
        client_.stream().flush();
    }
    Json send_report() const override { return replier_.report(); }
    Json receive_report() const override { return receipts_.report(client_.seen()); }

    Receipts receipts_;
    Replier replier_;
};

} // namespace mqcore::peer
