#pragma once
// Source and sink at once on one connection: sends to the client under test by the schedule while it
// receives what that client publishes.

#include "peer/receipts.hpp"
#include "peer/source.hpp"

namespace mqcore::peer {

class Duplex final : public Source {
  public:
    // spec.send and spec.receive must be there.
    Duplex(asio::io_context& io, measure::PeerSpec spec, EventOut out)
        : Source(io, std::move(spec), std::move(out)), receipts_(*spec_.receive) {}

  private:
    void begin(const measure::Schedule& schedule) override {
        receipts_.begin(schedule);
        Source::begin(schedule);
    }
    void on_publish(const PublishView& publish, Nanoseconds now) override {
        receipts_.record(publish, now);
    }
    Json receive_report() const override { return receipts_.report(client_.seen()); }

    Receipts receipts_;
};

} // namespace mqcore::peer
