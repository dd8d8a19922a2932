#pragma once
// A session: one broker with its probe, and runs on it, one after the other. It knows processes,
// deadlines, counters and samples; it does not know what a point is or whether a run is good: it
// takes specifications and hands back the raw part of the run document (docs/architecture.md).
// One thread; the thread that makes it must be the one that uses it.

#include "driver/descriptor.hpp"
#include "machine/topology.hpp"
#include "measure/histogram.hpp"
#include "measure/schedule.hpp"
#include "measure/specification.hpp"
#include "session/broker.hpp"
#include "session/witness.hpp"

namespace mqcore::session {

struct SessionOptions {
    std::filesystem::path worker_program, peer_program;
    std::filesystem::path log_folder; // broker.log and probe.log go there
    machine::CorePlan cores;
    bool has_broker = true;                   // false: every run is direct, its peer the server
    std::optional<BrokerUrl> external_broker; // nothing: a managed Mosquitto
    std::string external_ca_file;
    std::string id; // unique on the broker: begins the client ids of probe and handful
};

enum class Transport { plain, tls };

// A profiler for the window of one run. Its commands begin with a program's path, and are complete but for {pid}.
struct Attachment {
    std::string name;                // for messages
    std::vector<std::string> around; // starts the client's process; empty: it is started as ever
    std::vector<std::string> begin;  // started when the window starts
    std::vector<std::string> end; // started when it ends; empty: what `begin` started gets SIGINT
    std::uint32_t slowdown = 1;   // the client has so many times as long to connect and to leave
};

struct RunRequest {
    // The session fills in host, port and certificate file of both endpoints.
    measure::WorkerSpec worker;
    std::optional<measure::PeerSpec> peer; // nothing: idle points; a direct one is the server
    Transport client_transport = Transport::plain; // the peer is always plain: it is not measured
    measure::Schedule lengths;                     // start_ns is set by the session
    std::filesystem::path log_file;                // of worker, peer and profiler
    std::optional<Attachment> profiler;
    // What the planned driver.toml says: a library that says something else is not run. Nothing: any.
    std::optional<driver::Descriptor> descriptor = {};
};

// The raw part of a run document: schedule, failure, client, peer, broker, resources, log_tail.
struct RunParts {
    support::JsonObject document;
    std::optional<Failure> failure; // the same as in the document
    Nanoseconds overhead_ns = 0;    // what the run took beyond warm-up, window and drain
};

class Session {
  public:
    static support::Result<std::unique_ptr<Session>> start(SessionOptions options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const BrokerIdentity& broker() const;
    const BrokerWitness& witness() const;
    bool has_tls() const; // false: an external broker without mqtts://
    // {"broker": {...}, "witness": {...}, "cores": {...}} for the manifest.
    Json to_json() const;

    // One run, whatever happens in it: a failure is in the document. An Error only where the
    // session itself cannot go on (the broker cannot be started again).
    support::Result<RunParts> run(const RunRequest& request);

    // What the broker passes on between two peers, in deliveries per second of the window: its own
    // ceiling for such a load, with no client library in it. The source takes the client's cores.
    support::Result<double> relay_rate(const measure::PeerSpec& source,
                                       const measure::PeerSpec& sink,
                                       const measure::Schedule& lengths,
                                       const std::filesystem::path& log_file);

    // How long the broker takes from a publish to its acknowledgement, seen by a source with one message
    // in flight: what a client that waits for each pays at least. On the client's cores, as above.
    support::Result<measure::Histogram> acknowledgement(const measure::PeerSpec& source,
                                                        const measure::Schedule& lengths,
                                                        const std::filesystem::path& log_file);

    // SIGINT or SIGTERM arrived: no further run.
    bool is_interrupted();

  private:
    struct State;
    explicit Session(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace mqcore::session
