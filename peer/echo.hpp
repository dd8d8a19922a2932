#pragma once
// Sends each request of the client under test back to one reply topic, payload unchanged. Requests
// that find the reply window full wait in a queue of bounded size.

#include "peer/client_party.hpp"
#include "peer/publisher.hpp"
#include "peer/receipts.hpp"

#include <optional>

namespace mqcore::peer {

class Echo final : public ClientParty {
  public:
    static constexpr std::size_t kMostQueuedBytes = 64 * 1024 * 1024;

    // spec.receive and spec.send must be there.
    Echo(asio::io_context& io, measure::PeerSpec spec, EventOut out)
        : ClientParty(io, std::move(spec), std::move(out)), receipts_(*spec_.receive) {}

  private:
    void begin(const measure::Schedule& schedule) override;
    void on_publish(const PublishView& publish, Nanoseconds now) override;
    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) override {
        if (publisher_)
            publisher_->on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) override {
        if (publisher_)
            publisher_->on_written(now);
    }
    void on_turn_end() override { send_queued(); }
    void on_drained() override;
    bool reply(Bytes payload);
    void send_queued();
    void queue(Bytes payload);
    Json send_report() const override;
    Json receive_report() const override { return receipts_.report(client_); }

    Receipts receipts_;
    std::optional<Publisher> publisher_;
    ByteQueue queued_; // payloads, each after its length in eight bytes
    std::uint64_t window_full_ = 0;
};

} // namespace mqcore::peer
