#pragma once
// What this broker's $SYS counters can bear witness to. Mosquitto before 2.0.15 counts no QoS 2
// publishes, some versions lack counters, access lists may deny them. So a session learns it at its
// start, with a known handful of messages of each QoS, instead of trusting a version number.

#include "session/broker.hpp"
#include "session/child.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace mqcore::session {

// exact: the handful was counted to the message. blind: not counted at all. unclear: something else
// than the handful was counted (other clients on an external broker, or a fault nobody knows yet).
enum class Sight { exact, blind, unclear, unread };

std::string_view name_of(Sight sight);

struct BrokerWitness {
    std::array<Sight, 3> publish_received = {Sight::unread, Sight::unread, Sight::unread}; // by QoS
    std::array<Sight, 3> publish_sent = {Sight::unread, Sight::unread, Sight::unread};
    Sight messages_received = Sight::unread; // every packet, so that QoS 2 follows by arithmetic
    Sight messages_sent = Sight::unread;
    Nanoseconds tick_ns = 0; // between two updates of the counters, as seen; 0: not seen
    std::string reason;      // why nothing could be learnt; empty: it could
};

// {"publish_received": {"qos0": "exact", ...}, "publish_sent": {...}, "messages_received", ...,
//  "tick_ms", "reason"}
Json to_json(const BrokerWitness& witness);

// Publishes that a broker received, from its count of all packets, where it does not count QoS 2
// publishes: a completed QoS 2 exchange is PUBLISH and PUBREL from the sender and, for its delivery,
// PUBREC and PUBCOMP from the receiver. Nothing when the sums do not come out whole, because then
// some exchange was not complete.
struct Qos2Arithmetic {
    std::uint64_t messages_received = 0;
    std::uint64_t control_packets = 0; // CONNECT, SUBSCRIBE, DISCONNECT, PINGREQ in between
    std::uint64_t deliveries = 0;      // completed to the subscriber, by its own count
};
std::optional<std::uint64_t> qos2_publishes_received(const Qos2Arithmetic& counts);

// One reading of the counters, as the probe tells it.
struct Reading {
    bool is_fresh = false; // newer than was asked for
    Nanoseconds at_ns = 0;
    Json counters; // {"publish/messages/received": n, ...}, the probe's own deliveries taken out
};

// The probe: a peer in role probe that stays connected for the whole session.
class Probe {
  public:
    static support::Result<std::unique_ptr<Probe>>
    start(Supervisor& supervisor, const std::filesystem::path& peer_program,
          const Listener& listener, const std::string& client_id, const std::vector<int>& cpus,
          const std::filesystem::path& log_file);

    // Asks for a reading of a tick newer than the instant; take() waits for it.
    void request(Nanoseconds newer_than_ns, Nanoseconds timeout_ns);
    std::optional<Reading> take_if_there();
    support::Result<Reading> take();
    std::uint16_t local_port() const { return local_port_; }
    bool is_running() const { return child_->is_running(); }

  private:
    Probe(Supervisor& supervisor, std::unique_ptr<Child> child, std::uint16_t local_port)
        : supervisor_(supervisor), child_(std::move(child)), local_port_(local_port) {}

    Supervisor& supervisor_;
    std::unique_ptr<Child> child_;
    std::uint16_t local_port_;
    Nanoseconds deadline_ns_ = 0; // of the request that is under way; 0: none
};

struct LearnOptions {
    std::filesystem::path peer_program;
    Listener listener;
    std::string id_prefix; // client ids and topics of the handful begin with it
    std::filesystem::path log_file;
    std::vector<int> cpus;
    bool is_fresh_broker = true; // ours, just started: its first counters are all zero
};

struct Learnt {
    BrokerWitness witness;
    std::optional<Reading> last; // the counters after the handful: the first run's "before"
};

// Takes one tick of a fresh broker and two of one that was already running.
Learnt learn_witness(Supervisor& supervisor, Probe& probe, const LearnOptions& options);

} // namespace mqcore::session
