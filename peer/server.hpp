#pragma once
// A tiny broker on loopback for tests and for check-driver: any number of clients, subscriptions with
// wildcards, QoS 0 to 2 both ways, and a behaviour that departs from a broker's where a test asks for
// it. Keeps no sessions and no retained messages; not a broker to measure with.

#include "peer/party.hpp"
#include "peer/served_client.hpp"

#include <asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <vector>

namespace mqcore::peer {

class Server : public Party, protected ServerSide {
  public:
    Server(asio::io_context& io, measure::PeerSpec spec, EventOut out);

    void listen() override;
    void report() override;
    void finish() override;

  protected:
    void route(ServedClient& from, const PublishView& publish, Nanoseconds now) override;
    void turn_ended() override;

    asio::io_context& io_;
    measure::PeerSpec spec_;
    std::vector<std::unique_ptr<ServedClient>> clients_; // ended ones stay for the report

  private:
    void accept();
    void take(Link link);
    void serve(Link link);
    void look_around(); // ten times a second: keep alives, and accepting again after an error
    void take_over(const ServedClient& newcomer) override;

    measure::ServerBehaviour behaviour_;
    asio::ip::tcp::acceptor acceptor_;
    asio::steady_timer look_around_timer_;
    bool is_accepting_ = false;
    std::list<Link> handshakes_; // connections that are not yet secure; they stay in place
};

} // namespace mqcore::peer
