#pragma once
// What a broker can carry between two peers: source → broker → sink, no client in between. The rate is
// the ceiling for every client that sends or receives the same load through this broker.

#include "measure/schedule.hpp"
#include "measure/specification.hpp"
#include "session/broker.hpp"
#include "session/child.hpp"

namespace mqcore::session {

struct RelayOptions {
    std::filesystem::path peer_program, log_file;
    Listener listener;
    std::vector<int> source_cpus, sink_cpus;
};

// Messages that arrived in the window, per second. `lengths` is a schedule without its start; host,
// port and certificate file of both specifications are filled in here.
support::Result<double> relay_rate(Supervisor& supervisor, measure::PeerSpec source,
                                   measure::PeerSpec sink, measure::Schedule lengths,
                                   const RelayOptions& options);

} // namespace mqcore::session
