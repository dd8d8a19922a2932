#pragma once
// The raw part of a run document as JSON. The keys are those of docs/architecture.md, "Run
// document".

#include "machine/condition.hpp"
#include "machine/events.hpp"
#include "machine/sample.hpp"
#include "machine/sockets.hpp"
#include "measure/control_page.hpp"
#include "session/child.hpp"
#include "session/witness.hpp"

namespace mqcore::session {

Json to_json(const Failure& failure);

// What the broker counted between two readings. A counter that one of them lacks is null and named
// in "unavailable".
struct BrokerDelta {
    std::optional<Reading> before, after;
    std::string why_missing; // when a reading is missing or stale
    // Packets between them that are no PUBLISH and no answer to one, as far as the session knows:
    // one CONNECT a connection, one SUBSCRIBE, one DISCONNECT of those that took their leave.
    std::uint64_t control_packets = 0;
};

support::JsonObject broker_json(const BrokerWitness& witness, const BrokerDelta& delta);

// The counters that a worker left in its page: what is known of a run that broke off.
Json last_counters(const measure::ControlPage& page);

// System calls of the client and the bytes that its connections moved meanwhile, in a stretch of the
// warm-up: how many calls the bytes of a message cost.
struct SystemCalls {
    std::uint64_t calls = 0, bytes = 0;
    Nanoseconds span_ns = 0;
};

struct Resources {
    machine::ProcessUse client, peer, broker;
    machine::HostUse host;
    std::optional<machine::Condition> condition; // at the window's end
    Json cpu_series;                             // of client and broker, session/cpu_series.hpp
    // Of the client alone, and part of its entry in the document.
    machine::EventUse events;
    support::Result<machine::TcpUse> tcp;
    support::Result<SystemCalls> system_calls;
};
// Nothing was sampled, for this reason.
Resources unavailable_resources(const std::string& reason);

Json to_json(const Resources& resources);

} // namespace mqcore::session
