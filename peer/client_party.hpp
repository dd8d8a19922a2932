#pragma once
// What sink, source, echo and probe share: one client connection, its events, and the absolute end of
// a drive.

#include "peer/client.hpp"
#include "peer/party.hpp"
#include "peer/sender.hpp"

#include <asio/steady_timer.hpp>

namespace mqcore::peer {

class ClientParty : public Party, protected ClientListener {
  public:
    ClientParty(asio::io_context& io, measure::PeerSpec spec, EventOut out);

    void connect() override;
    void drive(const measure::Schedule& schedule) override;
    void finish() override { client_.disconnect(); }
    // Stands in for connect() where the other end of a socket is at hand (tests and benchmarks).
    void adopt(Link link);

  protected:
    virtual void begin(const measure::Schedule& schedule) = 0; // of a drive
    virtual Json send_report() const { return nullptr; }
    virtual Json receive_report() const { return nullptr; }
    // A subscription that the server refused ends the party; the probe lives with it.
    virtual bool needs_all_subscriptions() const { return true; }

    void on_publish(const PublishView&, Nanoseconds) override {}
    void on_ack(PacketType, const AckView&, Nanoseconds) override {}
    void on_written(Nanoseconds) override {}
    void on_lost(support::Error error) override { say_failed(error); }

    asio::io_context& io_;
    measure::PeerSpec spec_;
    Client client_;
    ConnectedFacts facts_;
    measure::Schedule schedule_;
    bool is_connected_ = false;
    bool is_driven_ = false; // or being driven: once in a life

  private:
    void connected(support::Result<ConnectedFacts> facts);
    std::string reason_not_to_send() const;
    void end_drive();

    asio::steady_timer end_timer_;
};

} // namespace mqcore::peer
