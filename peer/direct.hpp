#pragma once
// Direct mode: the peer speaks the server's side itself and there is no broker. The client under test
// connects to it; what it publishes is recorded or answered here, what it subscribed to is sent from
// here. The same receipts, sender and replier as across a broker, so results have the same form.

#include "peer/receipts.hpp"
#include "peer/replier.hpp"
#include "peer/sender.hpp"
#include "peer/server.hpp"

#include <asio/steady_timer.hpp>

namespace mqcore::peer {

class Direct final : public Server {
  public:
    Direct(asio::io_context& io, measure::PeerSpec spec, EventOut out);

    void drive(const measure::Schedule& schedule) override;

  private:
    // Nothing: the client is there and has subscribed to what is to be sent.
    std::string reason_not_to_drive() const;
    ServedClient* client() const; // the first that is connected; null: none
    void end_drive();

    void route(ServedClient& from, const PublishView& publish, Nanoseconds now) override;
    void turn_ended() override;
    bool take_ack(PacketType type, const AckView& ack, Nanoseconds now) override;
    void written(Nanoseconds now) override;
    void drained() override;

    std::optional<Receipts> receipts_;
    std::optional<Sender> sender_;
    std::optional<Replier> replier_;
    bool is_driven_ = false;
    asio::steady_timer end_timer_;
};

} // namespace mqcore::peer
