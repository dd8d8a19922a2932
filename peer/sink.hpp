#pragma once
// Receives what the client under test publishes, acknowledges it and records every arrival.

#include "peer/client_party.hpp"
#include "peer/receipts.hpp"

namespace mqcore::peer {

class Sink final : public ClientParty {
  public:
    // spec.receive must be there.
    Sink(asio::io_context& io, measure::PeerSpec spec, EventOut out)
        : ClientParty(io, std::move(spec), std::move(out)), receipts_(*spec_.receive) {}

  private:
    void begin(const measure::Schedule& schedule) override { receipts_.begin(schedule); }
    void on_publish(const PublishView& publish, Nanoseconds now) override {
        receipts_.record(publish, now);
    }
    Json receive_report() const override { return receipts_.report(client_.seen()); }

    Receipts receipts_;
};

} // namespace mqcore::peer
