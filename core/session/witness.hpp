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
#include <variant>

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
    std::string reason; // why nothing could be learnt; empty: it could
};

// {"publish_received": {"qos0": "exact", ...}, "publish_sent": {...}, "messages_received",
//  "messages_sent", "reason"}
Json to_json(const BrokerWitness& witness);

// One reading of the counters, as the probe tells it.
struct Reading {
    bool is_fresh = false; // newer than was asked for
    Nanoseconds at_ns = 0;
    Json counters; // {"publish/messages/received": n, ...}, the probe's own deliveries taken out
};

struct ProbeOptions {
    std::filesystem::path peer_program;
    Listener listener;
    std::string client_id;
    std::vector<int> cpus;
    std::filesystem::path log_file;
};

// The probe: a peer in role probe that stays connected for the whole session.
class Probe {
  public:
    static support::Result<std::unique_ptr<Probe>> start(Supervisor& supervisor,
                                                         const ProbeOptions& options);

    // Asks for a reading of a tick newer than the instant, so that it comes by itself while
    // something else is waited for. Does nothing while an earlier question is open.
    void request(Nanoseconds newer_than_ns, Nanoseconds timeout_ns);
    bool is_awaited() const { return deadline_ns_ != 0; }
    // The answer, if it is there and newer than the instant; an older one is dropped.
    std::optional<Reading> take_if_there(Nanoseconds newer_than_ns);
    // Waits for a reading newer than the instant, asking (again) where needed. Not fresh: none came
    // within the timeout.
    std::variant<Reading, Failure> take(Nanoseconds newer_than_ns, Nanoseconds timeout_ns);

    std::uint16_t local_port() const { return local_port_; } // of its connection
    pid_t pid() const { return child_->pid(); }
    bool is_running() const { return child_->is_running(); }

  private:
    Probe(Supervisor& supervisor, std::unique_ptr<Child> child, std::uint16_t local_port)
        : supervisor_(supervisor), child_(std::move(child)), local_port_(local_port) {}

    Supervisor& supervisor_;
    std::unique_ptr<Child> child_;
    bool is_answer_to(const Reading& reading, Nanoseconds newer_than_ns) const;

    std::uint16_t local_port_;
    Nanoseconds asked_newer_than_ns_ = 0; // by the last request
    Nanoseconds deadline_ns_ = 0;         // for its answer; 0: nothing is open
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
    std::optional<Reading> last; // the counters after the handful
};

// Takes one tick of a fresh broker and two of one that was already running. Whatever goes wrong
// with the handful becomes the witness's `reason`; only an interrupt or a dead broker is an Error.
support::Result<Learnt> learn_witness(Supervisor& supervisor, Probe& probe,
                                      const LearnOptions& options);

// From the counters' changes over a handful of kHandful messages by QoS; pure, for tests.
// control_packets: CONNECT, SUBSCRIBE of the parties that exchanged it.
constexpr std::array<std::uint64_t, 3> kHandful = {10, 20, 40};
BrokerWitness witness_of(const Json& before, const Json& after, std::uint64_t control_packets);

} // namespace mqcore::session
