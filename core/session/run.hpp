#pragma once
// One run of the parties on a session's broker; for session.cpp. The counters between two runs are
// kept here, because one run's last reading is the next one's first.

#include "session/run_document.hpp"
#include "session/session.hpp"
#include "session/tls_material.hpp"

namespace mqcore::session {

// What a run needs of its session and leaves for the next one.
struct RunContext {
    Supervisor& supervisor;
    const SessionOptions& options;
    Broker& broker;
    Probe* probe; // null: no broker
    const BrokerWitness& witness;
    // The last reading, if nothing was published since; else the run asks for a new one.
    std::optional<Reading>& baseline;
    Nanoseconds& last_traffic_ns;           // nothing was published after this instant
    std::uint64_t& control_packets_pending; // DISCONNECTs since the baseline
    const TlsMaterial* direct_tls;          // of a direct peer; null: the run is plain
};

RunParts run_parties(RunContext context, const RunRequest& request);

// The listener that the peer and the probe use: plain where there is one, since they are not
// measured.
Listener plain_or_tls(const Broker& broker);
void fill_in(measure::Endpoint& endpoint, const Listener& listener);

// How long a reading may take: our broker ticks every 2 s at most, another one every 10 s by
// default.
Nanoseconds tick_limit(const Broker& broker);

} // namespace mqcore::session
