#pragma once
// The other side of a trial: mqpeer as a scripted server on a free loopback port, and as the neutral
// party that takes or sends the messages. When one of them fails the bench is broken.

#include "conformance/bench.hpp"

namespace mqcore::conformance {

class Server {
  public:
    explicit Server(Bench& bench, const measure::ServerBehaviour& behaviour = {});

    std::uint16_t port() const { return port_; }
    // What it knows of the connection with that client id; null: there was none.
    Json connection(std::string_view client_id);
    // Of all connections, peers included.
    Json connections();

  private:
    Bench& bench_;
    std::unique_ptr<session::Child> process_;
    std::uint16_t port_ = 0;
};

// A sink or a source at the server.
class Neighbour {
  public:
    Neighbour(Bench& bench, measure::PeerSpec spec, std::uint16_t port);

    void drive(const measure::Schedule& schedule);
    Json report(); // once the schedule is over: {"send", "receive"}

  private:
    Bench& bench_;
    std::unique_ptr<session::Child> process_;
    measure::Schedule schedule_;
};

// A loopback port on which nobody listens.
std::uint16_t closed_port(Bench& bench);

} // namespace mqcore::conformance
