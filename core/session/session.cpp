#include "session/session.hpp"

#include "session/run.hpp"
#include "session/temp_dir.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <span>
#include <spdlog/spdlog.h>

namespace mqcore::session {
namespace {

using machine::Party;
using support::Error;
using support::ErrorCode;
using support::JsonObject;
using support::kSecond;
using support::now_ns;
using support::Result;

constexpr Nanoseconds kRelayConnectLimit = 15 * kSecond;
constexpr Nanoseconds kRelayGrace = 3 * kSecond;

// Keeps the calling thread on the orchestrator's cores for as long as it lives.
class PinnedThread {
  public:
    explicit PinnedThread(const std::vector<int>& cpus) {
        cpu_set_t wanted{};
        for (const int cpu : cpus)
            CPU_SET(cpu, &wanted);
        has_changed_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 && !cpus.empty() &&
                       ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    }
    ~PinnedThread() {
        if (has_changed_)
            ::sched_setaffinity(0, sizeof before_, &before_);
    }
    PinnedThread(const PinnedThread&) = delete;
    PinnedThread& operator=(const PinnedThread&) = delete;

  private:
    cpu_set_t before_{};
    bool has_changed_ = false;
};

struct PeerTask {
    const char* name;
    const measure::PeerSpec& spec;
    Party cores;
};

} // namespace

struct Session::State {
    explicit State(SessionOptions given)
        : options(std::move(given)), pinned(options.cores.of(Party::orchestrator)) {}

    Result<void> open();
    Result<void> start_probe();
    Result<void> learn();
    // Made when the first direct run over TLS asks for it.
    Result<const TlsMaterial*> direct_tls();
    // Broker and probe as they must be before a run: alive.
    Result<void> mend();
    Result<std::vector<Json>> drive_peers(std::span<const PeerTask> tasks,
                                          measure::Schedule schedule,
                                          const std::filesystem::path& log_file);

    SessionOptions options;
    PinnedThread pinned;
    Supervisor supervisor; // outlives broker and probe
    std::unique_ptr<Broker> broker;
    std::unique_ptr<Probe> probe;
    BrokerWitness witness;
    std::optional<Reading> baseline;
    Nanoseconds last_traffic_ns = 0;
    std::uint64_t control_packets_pending = 0;
    std::optional<TempDir> direct_folder;
    std::optional<TlsMaterial> direct_material;
};

Result<void> Session::State::open() {
    if (!options.has_broker) {
        broker = std::make_unique<NoBroker>();
        witness.reason = NoBroker::kWhy;
        return {};
    }
    auto started =
        options.external_broker
            ? use_external_broker(*options.external_broker, options.external_ca_file)
            : start_managed_broker(supervisor, {.cpus = options.cores.of(Party::broker),
                                                .log_file = options.log_folder / "broker.log"});
    if (!started)
        return started.error();
    broker = std::move(*started);
    if (auto probing = start_probe(); !probing)
        return probing;
    return learn();
}

// The probe works once a tick and while nothing is measured, so it stays off the peer's core where
// there is another.
Result<void> Session::State::start_probe() {
    auto started = Probe::start(supervisor, {.peer_program = options.peer_program,
                                             .listener = plain_or_tls(*broker),
                                             .client_id = options.id + "-probe",
                                             .cpus = options.cores.of(Party::orchestrator),
                                             .log_file = options.log_folder / "probe.log"});
    if (!started)
        return started.error();
    probe = std::move(*started);
    return {};
}

Result<void> Session::State::learn() {
    auto learnt = learn_witness(supervisor, *probe,
                                {.peer_program = options.peer_program,
                                 .listener = plain_or_tls(*broker),
                                 .id_prefix = options.id,
                                 .log_file = options.log_folder / "probe.log",
                                 .cpus = options.cores.of(Party::peer),
                                 .is_fresh_broker = broker->identity().is_managed});
    if (!learnt)
        return learnt.error();
    witness = std::move(learnt->witness);
    baseline = std::move(learnt->last);
    last_traffic_ns = now_ns();
    constexpr std::uint64_t kParties = 6; // of the handful, each with its DISCONNECT
    control_packets_pending = kParties;
    if (!witness.reason.empty())
        spdlog::warn("the broker's counters are no witness here: {}", witness.reason);
    return {};
}

Result<const TlsMaterial*> Session::State::direct_tls() {
    if (!direct_material) {
        auto folder = TempDir::create();
        if (!folder)
            return folder.error();
        direct_folder.emplace(std::move(*folder));
        auto made = make_tls_material(direct_folder->path());
        if (!made)
            return made.error();
        direct_material = std::move(*made);
    }
    return &*direct_material;
}

Result<void> Session::State::mend() {
    if (!options.has_broker)
        return {};
    if (Child* process = broker->process();
        process ? !process->is_running() : broker->identity().is_managed) {
        spdlog::warn("the broker ended ({}), starting it anew",
                     process ? process->how_it_ended() : "it could not be started");
        probe.reset();
        if (auto restarted = broker->restart(); !restarted)
            return restarted;
    }
    if (probe && probe->is_running())
        return {};
    probe.reset();
    baseline.reset();
    last_traffic_ns = now_ns();
    control_packets_pending = 0;
    return start_probe();
}

Result<std::unique_ptr<Session>> Session::start(SessionOptions options) {
    auto state = std::make_unique<State>(std::move(options));
    if (auto opened = state->open(); !opened)
        return opened.error();
    return std::unique_ptr<Session>(new Session(std::move(state)));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

const BrokerIdentity& Session::broker() const { return state_->broker->identity(); }
const BrokerWitness& Session::witness() const { return state_->witness; }
bool Session::has_tls() const { return state_->broker->tls().has_value(); }
bool Session::is_interrupted() { return state_->supervisor.is_interrupted(); }

Json Session::to_json() const {
    return JsonObject{{"broker", session::to_json(broker())},
                      {"witness", session::to_json(witness())},
                      {"cores", machine::to_json(state_->options.cores)}};
}

Result<RunParts> Session::run(const RunRequest& request) {
    State& state = *state_;
    if (auto mended = state.mend(); !mended)
        return mended.error();
    Result<const TlsMaterial*> direct_tls = nullptr;
    if (request.peer && request.peer->is_direct && request.client_transport == Transport::tls)
        if (direct_tls = state.direct_tls(); !direct_tls)
            return direct_tls.error();
    return run_parties({.supervisor = state.supervisor,
                        .options = state.options,
                        .broker = *state.broker,
                        .probe = state.probe.get(),
                        .witness = state.witness,
                        .baseline = state.baseline,
                        .last_traffic_ns = state.last_traffic_ns,
                        .control_packets_pending = state.control_packets_pending,
                        .direct_tls = *direct_tls},
                       request);
}

// Peers alone on the broker, with no client library in it: their reports, in the order of the tasks.
Result<std::vector<Json>> Session::State::drive_peers(std::span<const PeerTask> tasks,
                                                      measure::Schedule schedule,
                                                      const std::filesystem::path& log_file) {
    if (auto mended = mend(); !mended)
        return mended.error();
    supervisor.set_phase("ceiling");
    baseline.reset();
    const auto failed = [&](const Reply& reply) {
        last_traffic_ns = now_ns();
        const Failure& failure = *reply.failure;
        return Error{failure.status == "interrupted" ? ErrorCode::interrupted
                     : failure.party == "broker"     ? ErrorCode::broker
                                                     : ErrorCode::peer,
                     failure.reason,
                     {}};
    };
    std::vector<std::unique_ptr<Child>> children;
    for (const PeerTask& task : tasks) {
        auto started = supervisor.start({.name = task.name,
                                         .party = "peer",
                                         .program = options.peer_program,
                                         .arguments = {},
                                         .cpus = options.cores.of(task.cores),
                                         .log_file = log_file,
                                         .environment = {}});
        if (!started)
            return started.error();
        children.push_back(std::move(*started));
        measure::PeerSpec spec = task.spec;
        fill_in(spec.endpoint, plain_or_tls(*broker));
        const Reply reply = supervisor.ask(
            *children.back(), JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec)}},
            "connected", now_ns() + kRelayConnectLimit);
        if (!reply)
            return failed(reply);
    }
    schedule.start_ns = now_ns() + 30 * support::kMillisecond;
    for (const auto& child : children)
        child->tell(JsonObject{{"do", "drive"}, {"schedule", measure::to_json(schedule)}});
    std::vector<Json> reports;
    for (const auto& child : children) {
        Reply reply = supervisor.expect(*child, "driven", schedule.end() + kRelayGrace);
        if (!reply)
            return failed(reply);
        Json* report = reply.event.get_object().if_contains("report");
        reports.push_back(report ? std::move(*report) : Json(nullptr));
    }
    for (const auto& child : children) {
        child->expect_end();
        child->tell(JsonObject{{"do", "finish"}});
    }
    for (const auto& child : children)
        supervisor.wait_for_end(*child, now_ns() + kSecond);
    last_traffic_ns = now_ns();
    control_packets_pending = 0;
    return reports;
}

Result<double> Session::relay_rate(const measure::PeerSpec& source, const measure::PeerSpec& sink,
                                   const measure::Schedule& lengths,
                                   const std::filesystem::path& log_file) {
    const PeerTask tasks[] = {{"sink", sink, Party::peer}, {"source", source, Party::client}};
    const auto reports = state_->drive_peers(tasks, lengths, log_file);
    if (!reports)
        return reports.error();
    const Json* receive = support::find(reports->front(), "receive");
    const std::uint64_t arrived = receive ? support::unsigned_or(*receive, "window", 0) : 0;
    return static_cast<double>(arrived) * static_cast<double>(kSecond) /
           static_cast<double>(lengths.window_ns);
}

Result<measure::Histogram> Session::acknowledgement(const measure::PeerSpec& source,
                                                    const measure::Schedule& lengths,
                                                    const std::filesystem::path& log_file) {
    const PeerTask tasks[] = {{"source", source, Party::client}};
    const auto reports = state_->drive_peers(tasks, lengths, log_file);
    if (!reports)
        return reports.error();
    const Json* send = support::find(reports->front(), "send");
    const Json* times = send ? support::find(*send, "acknowledged") : nullptr;
    if (!times || times->is_null())
        return Error{ErrorCode::peer, "the source told no times", {}};
    return measure::Histogram::from_json(*times);
}

} // namespace mqcore::session
