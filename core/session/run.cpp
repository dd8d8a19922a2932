#include "session/run.hpp"

#include "machine/profiler.hpp"
#include "machine/sockets.hpp"
#include "session/cpu_series.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <spdlog/spdlog.h>

namespace mqcore::session {
namespace {

using machine::HostSample;
using machine::Party;
using machine::ProcessSample;
using machine::ProcessSampler;
using support::JsonObject;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;

// Deadlines, each far above what a healthy party needs and short enough to wait for.
constexpr Nanoseconds kPrepareLimit = 60 * kSecond; // a cold interpreter with many modules
constexpr Nanoseconds kConnectLimit = 15 * kSecond;
constexpr Nanoseconds kDrivenGrace = 3 * kSecond; // after the schedule's end
constexpr Nanoseconds kFinishLimit = 5 * kSecond;
constexpr Nanoseconds kProfilerLimit = 60 * kSecond;  // to write what it has
constexpr Nanoseconds kMourning = 100 * kMillisecond; // until the end of a killed broker is known

// From the last word to both parties until the warm-up starts, so that neither is late for it.
constexpr Nanoseconds kLead = 30 * kMillisecond;
// The host's processes are walked just before the window, so that the walk ends when it starts.
constexpr Nanoseconds kBeforeWindow = 15 * kMillisecond;
// System calls are counted in a stretch of the warm-up. Ending it can take the kernel 50 ms, and the
// window must find the machine as it was.
constexpr Nanoseconds kCallsFrom = 400 * kMillisecond; // before the window
constexpr Nanoseconds kCallsTo = 200 * kMillisecond;
// While the drain lasts, the sockets are looked at this often for whether bytes still move.
constexpr Nanoseconds kQuietCheck = 40 * kMillisecond;
constexpr Nanoseconds kQuietStart = 100 * kMillisecond; // stragglers of the window come first

constexpr Nanoseconds kDepartureLimit = 5 * kSecond;

support::Error host_error(std::string message) {
    return {support::ErrorCode::host, std::move(message), {}};
}

struct Sampled {
    std::optional<ProcessSampler> sampler; // nothing: not ours, or no such party
    std::string why_not;
    machine::CpuTime cpu; // the last one
    ProcessSample before, after;

    void begin() {
        if (sampler)
            sampler->begin();
    }
    void read_cpu() {
        if (sampler)
            cpu = sampler->cpu_time();
    }
    // With the CPU time that was just read, so that the series and the window's use are the same readings.
    void take(ProcessSample Sampled::*which) {
        if (sampler)
            this->*which = sampler->sample(cpu);
    }
    machine::ProcessUse use() const {
        return sampler ? sampler->use_between(before, after) : machine::unavailable_use(why_not);
    }
};

class Run {
  public:
    Run(RunContext context, const RunRequest& request)
        : is_direct_(request.peer && request.peer->is_direct),
          context_(is_direct_ ? RunContext{.supervisor = context.supervisor,
                                           .options = context.options,
                                           .broker = no_broker_,
                                           .probe = nullptr,
                                           .witness = no_witness_,
                                           .baseline = no_baseline_,
                                           .last_traffic_ns = no_traffic_ns_,
                                           .control_packets_pending = no_packets_,
                                           .direct_tls = context.direct_tls}
                              : context),
          request_(request), supervisor_(context.supervisor), begin_ns_(now_ns()) {}

    RunParts perform();

  private:
    using Step = std::optional<Failure>; // nothing: the step was done

    Step go_through();
    Step start_parties();
    Step start_child(std::unique_ptr<Child>& child, std::string name, Party party);
    Step open_direct_peer();
    Step connect_peer();
    Step prepare_worker();
    Step connect_worker();
    Step take_first_reading();
    Step drive();
    Step wait_until(Nanoseconds instant);
    Step count_system_calls();
    Step watch_window();
    Step watch_drain();
    Step collect_reports();
    Step take_last_reading();
    Step start_profiler(std::unique_ptr<Child>& child, const machine::Command& command);
    Step await_profiler();
    void finish();
    void finish_one(Child* child, JsonObject& document);

    // A client under a slow profiler has longer for all that it does.
    Nanoseconds client_limit(Nanoseconds limit) const {
        return limit * (request_.profiler ? request_.profiler->slowdown : 1);
    }
    std::uint16_t client_port() const;
    machine::Connections client_connections() const {
        return machine::connections_of(worker_->pid(), client_port());
    }
    void look_at_no_delay();
    std::optional<std::vector<machine::TcpSocket>> party_sockets() const;
    std::optional<std::uint64_t> bytes_moved() const;
    void await_departure();
    void note_movement();
    bool has_counters() const { return context_.witness.reason.empty(); }

    void blame(Failure& failure) const;
    void keep_last_words();
    Resources resources() const;
    JsonObject document(const std::optional<Failure>& failure);

    const bool is_direct_;
    // What a direct run has instead of the session's broker, which it leaves alone.
    NoBroker no_broker_;
    const BrokerWitness no_witness_{.reason = NoBroker::kWhy};
    std::optional<Reading> no_baseline_;
    Nanoseconds no_traffic_ns_ = 0;
    std::uint64_t no_packets_ = 0;
    RunContext context_;
    const RunRequest& request_;
    Supervisor& supervisor_;
    Nanoseconds begin_ns_;
    std::optional<measure::SharedPage> page_;
    std::unique_ptr<Child> worker_, peer_;
    std::unique_ptr<Child> profiler_, profiler_end_; // what its two commands started
    measure::Schedule schedule_;
    JsonObject client_, peer_document_;
    std::vector<pid_t> party_pids_;
    JsonObject broker_no_delay_;
    BrokerDelta delta_;
    std::uint64_t control_packets_of_run_ = 0;
    Sampled client_sample_, peer_sample_, broker_sample_;
    std::optional<CpuSeries> cpu_series_; // from the drive on
    HostSample host_before_, host_after_;
    machine::Condition condition_;
    std::optional<machine::EventCounters> events_;
    machine::EventSample events_before_, events_after_;
    support::Result<machine::TcpUse> tcp_ = host_error("not looked at");
    support::Result<SystemCalls> system_calls_ = host_error("not counted");
    bool is_sampled_ = false;
    // The sum of bytes that the parties' sockets had moved, and since when it has not changed.
    std::optional<std::uint64_t> moved_;
    Nanoseconds quiet_since_ns_ = 0;
};

RunParts Run::perform() {
    std::optional<Failure> failure = go_through();
    if (failure) {
        blame(*failure);
        spdlog::debug("run failed: {} in {}: {}", failure->party, failure->phase, failure->reason);
        keep_last_words();
        // Whoever published may have published more since: the next run needs a new reading.
        context_.baseline.reset();
        for (const auto& child : {profiler_.get(), profiler_end_.get(), worker_.get(), peer_.get()})
            if (child)
                child->end();
        await_departure();
        context_.control_packets_pending = 0;
    }
    RunParts parts{.document = document(failure), .failure = failure};
    const Nanoseconds planned = schedule_.warmup_ns + schedule_.window_ns + schedule_.drain_ns;
    const Nanoseconds took = now_ns() - begin_ns_;
    parts.overhead_ns = took > planned ? took - planned : 0;
    return parts;
}

std::optional<Failure> Run::go_through() {
    for (const auto step :
         {&Run::start_parties, &Run::connect_peer, &Run::prepare_worker, &Run::connect_worker,
          &Run::take_first_reading, &Run::drive, &Run::count_system_calls, &Run::watch_window,
          &Run::watch_drain, &Run::collect_reports, &Run::take_last_reading, &Run::await_profiler})
        if (Step failure = (this->*step)())
            return failure;
    finish();
    return std::nullopt;
}

// Both start at once: loading the client library overlaps with the peer's connect, and with the
// broker's next tick where a first reading is still wanted.
std::optional<Failure> Run::start_parties() {
    supervisor_.set_phase("prepare");
    if (has_counters() && !context_.baseline)
        context_.probe->request(context_.last_traffic_ns, tick_limit(context_.broker));
    auto page = measure::SharedPage::create();
    if (!page)
        return Failure{"host", "prepare", "failed", support::one_line(page.error())};
    page_.emplace(std::move(*page));
    if (Step failure = start_child(worker_, "client", Party::client))
        return failure;
    if (request_.peer)
        if (Step failure = start_child(peer_, "peer", Party::peer))
            return failure;
    if (is_direct_)
        if (Step failure = open_direct_peer())
            return failure;

    measure::WorkerSpec spec = request_.worker;
    const auto tls = context_.broker.tls();
    const auto plain = context_.broker.plain();
    const auto& listener = request_.client_transport == Transport::tls ? tls : plain;
    if (!listener)
        return Failure{"broker", "prepare", "unsupported",
                       request_.client_transport == Transport::tls
                           ? "the broker has no TLS listener"
                           : "the broker has a TLS listener only"};
    fill_in(spec.endpoint, *listener);
    worker_->tell(JsonObject{{"do", "prepare"}, {"spec", measure::to_json(spec)}});
    return std::nullopt;
}

std::optional<Failure> Run::start_child(std::unique_ptr<Child>& child, std::string name,
                                        Party party) {
    const bool is_worker = party == Party::client;
    machine::Command command;
    if (is_worker && request_.profiler)
        command = request_.profiler->around;
    command.push_back(is_worker ? context_.options.worker_program : context_.options.peer_program);
    auto started = supervisor_.start({.name = name,
                                      .party = name,
                                      .program = command.front(),
                                      .arguments = {command.begin() + 1, command.end()},
                                      .cpus = context_.options.cores.of(party),
                                      .log_file = request_.log_file,
                                      .page_descriptor = is_worker ? page_->fd() : -1,
                                      .is_traceable = is_worker && request_.profiler,
                                      .environment = {}});
    if (!started)
        return Failure{"host", "prepare", "failed", support::one_line(started.error())};
    child = std::move(*started);
    return std::nullopt;
}

// The client's server must be there before the client is told where it is.
std::optional<Failure> Run::open_direct_peer() {
    measure::PeerSpec spec = *request_.peer;
    Listener listener{.host = "127.0.0.1"};
    if (request_.client_transport == Transport::tls) {
        if (!context_.direct_tls)
            return Failure{"host", "prepare", "failed", "no TLS material could be made"};
        spec.endpoint.certificate_file = context_.direct_tls->certificate_file.string();
        spec.endpoint.key_file = context_.direct_tls->key_file.string();
        listener.ca_file = context_.direct_tls->ca_file.string();
    }
    Reply reply =
        supervisor_.ask(*peer_, JsonObject{{"do", "listen"}, {"spec", measure::to_json(spec)}},
                        "listening", now_ns() + kConnectLimit);
    if (!reply)
        return reply.failure;
    listener.port = static_cast<std::uint16_t>(support::unsigned_or(reply.event, "port", 0));
    no_broker_.listen_at(std::move(listener));
    peer_document_["connected"] = std::move(reply.event);
    return std::nullopt;
}

std::optional<Failure> Run::connect_peer() {
    if (!peer_ || is_direct_)
        return std::nullopt;
    measure::PeerSpec spec = *request_.peer;
    fill_in(spec.endpoint, plain_or_tls(context_.broker));
    Reply reply =
        supervisor_.ask(*peer_, JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec)}},
                        "connected", now_ns() + kConnectLimit);
    if (!reply) {
        if (reply.failure->party == "peer")
            reply.failure->phase = "connect"; // while the worker still prepares
        return reply.failure;
    }
    peer_document_["connected"] = std::move(reply.event);
    control_packets_of_run_ += spec.receive ? 2 : 1;
    return std::nullopt;
}

std::optional<Failure> Run::prepare_worker() {
    Reply reply = supervisor_.expect(*worker_, "prepared", now_ns() + client_limit(kPrepareLimit));
    if (!reply)
        return reply.failure;
    const Json* loaded = support::find(reply.event, "driver");
    client_["driver"] = loaded ? *loaded : Json(nullptr);
    if (request_.descriptor)
        if (const std::string difference =
                driver::difference(*request_.descriptor, client_["driver"]);
            !difference.empty())
            return Failure{.party = "client",
                           .phase = "prepare",
                           .status = "driver",
                           .reason =
                               fmt::format("the driver is not what was planned: {}", difference)};
    return std::nullopt;
}

std::optional<Failure> Run::connect_worker() {
    supervisor_.set_phase("connect");
    Reply reply = supervisor_.ask(*worker_, JsonObject{{"do", "connect"}}, "connected",
                                  now_ns() + client_limit(kConnectLimit));
    if (!reply)
        return reply.failure;
    client_["connect_ns"] = support::unsigned_or(reply.event, "connect_ns", 0);
    if (Json* notes = reply.event.get_object().if_contains("notes"))
        client_["notes"] = std::move(*notes);
    control_packets_of_run_ +=
        request_.worker.connections * (request_.worker.receive ? std::uint64_t{2} : 1);
    look_at_no_delay();
    return std::nullopt;
}

std::uint16_t Run::client_port() const {
    const auto listener = request_.client_transport == Transport::tls ? context_.broker.tls()
                                                                      : context_.broker.plain();
    return listener->port; // start_parties() has seen that there is one
}

// The truth about Nagle's algorithm is in the socket, not in what a library says it sets.
void Run::look_at_no_delay() {
    const std::uint16_t port = client_port();
    const auto tell = [](JsonObject& document, const auto& found, const char* nobody) {
        document["tcp_nodelay"] = nullptr;
        if (!found) {
            document["tcp_nodelay_unavailable"] = found.error().message;
            return;
        }
        const auto set = std::ranges::count_if(*found, &machine::NoDelay::is_set);
        if (found->empty())
            document["tcp_nodelay_unavailable"] = nobody;
        else if (set == 0 || set == std::ssize(*found))
            document["tcp_nodelay"] = set != 0;
        else
            document["tcp_nodelay_unavailable"] =
                fmt::format("{} of {} connections have it", set, found->size());
    };
    tell(client_, machine::no_delay_of(worker_->pid(), port),
         "the client has no TCP socket at the broker's port");
    if (Child* broker = context_.broker.process())
        tell(broker_no_delay_, machine::no_delay_of(broker->pid(), port),
             "the broker has no connection at this port");
}

std::optional<Failure> Run::take_first_reading() {
    if (!has_counters()) {
        delta_.why_missing = context_.witness.reason;
        return std::nullopt;
    }
    if (!context_.baseline) {
        auto read = context_.probe->take(context_.last_traffic_ns, tick_limit(context_.broker));
        if (Failure* failure = std::get_if<Failure>(&read))
            return std::move(*failure);
        context_.baseline = std::move(std::get<Reading>(read));
        context_.control_packets_pending = 0;
    }
    delta_.before = std::move(context_.baseline);
    context_.baseline.reset();
    delta_.control_packets = context_.control_packets_pending + control_packets_of_run_;
    return std::nullopt;
}

std::optional<Failure> Run::drive() {
    client_sample_.sampler.emplace(worker_->pid());
    if (peer_)
        peer_sample_.sampler.emplace(peer_->pid());
    else
        peer_sample_.why_not = "this point has no peer";
    if (Child* broker = context_.broker.process())
        broker_sample_.sampler.emplace(broker->pid());
    else
        broker_sample_.why_not = context_.broker.why_no_process();

    for (Child* child : {worker_.get(), peer_.get(), context_.broker.process()})
        if (child)
            party_pids_.push_back(child->pid());

    supervisor_.set_phase("warmup");
    schedule_ = request_.lengths;
    schedule_.start_ns = now_ns() + kLead;
    cpu_series_.emplace(schedule_);
    const JsonObject order{{"do", "drive"}, {"schedule", measure::to_json(schedule_)}};
    worker_->tell(order);
    if (peer_)
        peer_->tell(order);
    return std::nullopt;
}

// While a run lasts, waiting is reading CPU times at the bounds of its intervals.
std::optional<Failure> Run::wait_until(Nanoseconds instant) {
    while (const auto bound = cpu_series_->next(instant)) {
        if (Step failure = supervisor_.wait_until(*bound))
            return failure;
        const Nanoseconds now = now_ns();
        if (cpu_series_->has_gone_by(now, instant)) {
            cpu_series_->leave_out();
            continue;
        }
        for (Sampled* party : {&client_sample_, &peer_sample_, &broker_sample_})
            party->read_cpu();
        cpu_series_->add(now, client_sample_.cpu.cpu_ns, broker_sample_.cpu.cpu_ns);
    }
    return supervisor_.wait_until(instant);
}

std::optional<Failure> Run::count_system_calls() {
    const auto unavailable = [&](support::Error error) {
        system_calls_ = std::move(error);
        return std::nullopt;
    };
    const auto kind = machine::system_call_event();
    if (!kind)
        return unavailable(kind.error());
    if (schedule_.warmup_ns < kCallsFrom)
        return unavailable(
            host_error(fmt::format("they are counted in the warm-up, which is shorter than {} ms",
                                   kCallsFrom / kMillisecond)));
    if (Step failure = wait_until(schedule_.window_start() - kCallsFrom))
        return failure;
    const machine::EventCounters counters(worker_->pid(), std::span(&*kind, 1));
    const auto before = client_connections();
    const machine::EventSample first = counters.sample();
    const Nanoseconds begin_ns = now_ns();
    if (Step failure = wait_until(schedule_.window_start() - kCallsTo))
        return failure;
    const machine::EventSample last = counters.sample();
    const Nanoseconds span_ns = now_ns() - begin_ns;
    const auto moved = machine::use_between(before, client_connections());
    const machine::EventUse use = counters.use_between(first, last);
    if (!use.unavailable.empty())
        return unavailable(host_error(use.unavailable.begin()->second));
    if (!moved)
        return unavailable(moved.error());
    system_calls_ = SystemCalls{.calls = use.counts.at(kind->name),
                                .bytes = moved->bytes_out + moved->bytes_in,
                                .span_ns = span_ns};
    return std::nullopt;
}

std::optional<Failure> Run::watch_window() {
    if (Step failure = wait_until(schedule_.window_start() - kBeforeWindow))
        return failure;
    Sampled* const parties[] = {&client_sample_, &peer_sample_, &broker_sample_};
    for (Sampled* party : parties)
        party->begin();
    events_.emplace(worker_->pid(), machine::hardware_events());
    host_before_ = machine::sample_host();
    if (Step failure = wait_until(schedule_.window_start()))
        return failure;
    for (Sampled* party : parties)
        party->take(&Sampled::before);
    events_before_ = events_->sample();
    const auto connections = client_connections();
    supervisor_.set_phase("window");
    if (request_.profiler)
        if (Step failure = start_profiler(profiler_, request_.profiler->begin))
            return failure;
    if (Step failure = wait_until(schedule_.window_end()))
        return failure;
    for (Sampled* party : parties)
        party->take(&Sampled::after);
    events_after_ = events_->sample();
    tcp_ = machine::use_between(connections, client_connections());
    host_after_ = machine::sample_host();
    condition_ = machine::read_condition();
    is_sampled_ = true;
    supervisor_.set_phase("drain");
    if (request_.profiler && request_.profiler->end.empty())
        profiler_->interrupt();
    else if (request_.profiler)
        return start_profiler(profiler_end_, request_.profiler->end);
    return std::nullopt;
}

// A broker of version 2.0 updates its counters every 2 s. Waiting for the tick after the schedule's
// end would cost a second a run on average, but sending ended with the window: a tick in the drain
// tells the same, provided that nothing moved after it. The kernel's byte counts of the parties'
// sockets prove that.
std::optional<Failure> Run::watch_drain() {
    if (Step failure = wait_until(schedule_.window_end() + kQuietStart))
        return failure;
    while (has_counters() && now_ns() < schedule_.end()) {
        note_movement();
        const bool is_quiet = moved_ && now_ns() - quiet_since_ns_ >= kQuietCheck;
        if (auto reading = context_.probe->take_if_there(quiet_since_ns_))
            delta_.after = std::move(reading);
        if (is_quiet && !delta_.after)
            context_.probe->request(quiet_since_ns_, tick_limit(context_.broker));
        if (Step failure = wait_until(std::min(now_ns() + kQuietCheck, schedule_.end())))
            return failure;
    }
    return wait_until(schedule_.end());
}

void Run::note_movement() {
    const auto moved = bytes_moved();
    if (moved && moved == moved_)
        return;
    moved_ = moved;
    quiet_since_ns_ = now_ns();
    delta_.after.reset(); // taken before this movement
}

// Both ends of the parties' connections to the broker. Nothing: the kernel does not tell.
std::optional<std::vector<machine::TcpSocket>> Run::party_sockets() const {
    std::vector<machine::TcpSocket> found;
    std::uint16_t seen_port = 0;
    const std::uint16_t probe = context_.probe->local_port();
    for (const auto& listener : {context_.broker.plain(), context_.broker.tls()}) {
        if (!listener || listener->port == seen_port)
            continue;
        seen_port = listener->port;
        const auto sockets = machine::sockets_at_port(listener->port);
        if (!sockets)
            return std::nullopt;
        std::ranges::copy_if(*sockets, std::back_inserter(found),
                             [&](const machine::TcpSocket& socket) {
                                 return socket.local_port != probe && socket.remote_port != probe;
                             });
    }
    return found;
}

std::optional<std::uint64_t> Run::bytes_moved() const {
    const auto sockets = party_sockets();
    if (!sockets)
        return std::nullopt;
    std::uint64_t sum = 0;
    for (const machine::TcpSocket& socket : *sockets)
        sum += socket.bytes_sent + socket.bytes_received;
    return sum;
}

// A broker that is behind reads on after its clients are gone. Once it has closed their connections, it has
// read and counted all of them.
void Run::await_departure() {
    const auto is_connected = [](const machine::TcpSocket& socket) {
        return socket.remote_port != 0 && socket.inode != 0; // neither listening nor in TIME_WAIT
    };
    const Nanoseconds deadline = now_ns() + kDepartureLimit;
    while (has_counters() && now_ns() < deadline) {
        const auto sockets = party_sockets();
        if (!sockets || std::ranges::none_of(*sockets, is_connected) ||
            supervisor_.wait_until(now_ns() + kQuietCheck))
            break;
    }
    context_.last_traffic_ns = now_ns();
}

std::optional<Failure> Run::collect_reports() {
    const Nanoseconds deadline = schedule_.end() + client_limit(kDrivenGrace);
    Reply driven = supervisor_.expect(*worker_, "driven", deadline);
    if (!driven)
        return driven.failure;
    JsonObject& event = driven.event.get_object();
    if (Json* report = event.if_contains("report"))
        client_["report"] = std::move(*report);
    if (Json* notes = event.if_contains("notes"))
        client_["notes"] = std::move(*notes);
    if (!peer_)
        return std::nullopt;
    Reply reply = supervisor_.expect(*peer_, "driven", deadline);
    if (!reply)
        return reply.failure;
    for (const char* key : {"report", "tls"})
        if (Json* told = reply.event.get_object().if_contains(key))
            peer_document_[key] = std::move(*told);
    return std::nullopt;
}

std::optional<Failure> Run::take_last_reading() {
    if (!has_counters())
        return std::nullopt;
    note_movement(); // the last look: a reading from before a movement is dropped here
    if (!delta_.after) {
        // Without the kernel's byte counts only a tick after the end proves anything.
        auto read =
            context_.probe->take(moved_ ? quiet_since_ns_ : now_ns(), tick_limit(context_.broker));
        if (Failure* failure = std::get_if<Failure>(&read))
            return std::move(*failure);
        delta_.after = std::move(std::get<Reading>(read));
    }
    if (!delta_.after->is_fresh)
        delta_.why_missing = fmt::format("no new $SYS counters within {} s of the run's end",
                                         tick_limit(context_.broker) / kSecond);
    else if (delta_.before && !delta_.before->is_fresh)
        delta_.why_missing = "no new $SYS counters before the run";
    return std::nullopt;
}

// On the orchestrator's cores, beside the log of the parties.
std::optional<Failure> Run::start_profiler(std::unique_ptr<Child>& child,
                                           const machine::Command& command) {
    const std::string pid = std::to_string(worker_->pid());
    const machine::Filling fillings[] = {{"pid", pid}};
    const machine::Command ready = machine::filled(command, fillings);
    auto started = supervisor_.start({.name = request_.profiler->name,
                                      .party = "host",
                                      .program = ready.front(),
                                      .arguments = {ready.begin() + 1, ready.end()},
                                      .cpus = context_.options.cores.of(Party::orchestrator),
                                      .log_file = request_.log_file,
                                      .has_control_channel = false,
                                      .environment = {}});
    if (!started)
        return Failure{"host", "window", "failed", support::one_line(started.error())};
    child = std::move(*started);
    if (!request_.profiler->end.empty())
        child->expect_end(); // a command that does its work and ends
    return std::nullopt;
}

// The client must be there until its profiler has let go of it.
std::optional<Failure> Run::await_profiler() {
    for (Child* child : {profiler_.get(), profiler_end_.get()})
        if (child && !supervisor_.wait_for_end(*child, now_ns() + kProfilerLimit))
            return Failure{"host", "drain", "deadline",
                           fmt::format("{} did not end within {} s of the window's end",
                                       child->name(), kProfilerLimit / kSecond)};
    // How they ended is seen here, as that of every child is wherever one is waited for.
    if (Step failure = supervisor_.wait_until(now_ns()))
        return failure;
    profiler_.reset();
    profiler_end_.reset();
    return std::nullopt;
}

// What comes now is no longer part of the experiment: a client that cannot leave is noted, no more.
void Run::finish() {
    supervisor_.set_phase("finish");
    // What moved after the last reading is in no count of this run, and must not get into the next one's.
    const bool holds = delta_.after && delta_.after->is_fresh && moved_ && bytes_moved() == moved_;
    for (Child* child : {worker_.get(), peer_.get()})
        if (child) {
            child->expect_end();
            child->tell(JsonObject{{"do", "finish"}});
        }
    finish_one(worker_.get(), client_);
    finish_one(peer_.get(), peer_document_);
    if (holds) {
        context_.baseline = delta_.after;
        context_.last_traffic_ns = now_ns();
    } else {
        await_departure();
    }
    context_.control_packets_pending = request_.worker.connections + (peer_ ? 1 : 0);
    worker_.reset();
    peer_.reset();
}

void Run::finish_one(Child* child, JsonObject& document) {
    if (!child)
        return;
    const Nanoseconds deadline = now_ns() + client_limit(kFinishLimit);
    Reply reply = supervisor_.expect(*child, "finished", deadline);
    if (!reply) {
        document["teardown"] = to_json(*reply.failure);
        return child->end();
    }
    if (Json* misuse = reply.event.get_object().if_contains("misuse"))
        document["misuse"] = std::move(*misuse);
    if (!supervisor_.wait_for_end(*child, deadline)) {
        document["teardown"] = to_json(
            Failure{child->name(), "finish", "deadline", "it did not exit after 'finished'"});
        child->end();
    }
}

// A party that ran out of what the machine gives is not at fault.
constexpr int kHostLimits[] = {EMFILE, ENFILE, EADDRNOTAVAIL, ENOMEM, ENOSPC};

// Corrects who is blamed, and says where in its own life the client was, which the session's phases
// do not know.
void Run::blame(Failure& failure) const {
    // Whoever was connected to a broker that died may be heard of before the broker's own end is.
    Child* broker = context_.broker.process();
    const bool may_follow = failure.party != "broker" && failure.status != "interrupted";
    if (broker && may_follow && supervisor_.wait_for_end(*broker, now_ns() + kMourning)) {
        failure = {"broker", failure.phase, "ended",
                   fmt::format("the broker ended ({}); first noticed: {}", broker->how_it_ended(),
                               failure.reason)};
        return;
    }
    for (const int limit : kHostLimits)
        if (failure.reason.find(std::strerror(limit)) != std::string::npos) {
            failure.party = "host";
            return;
        }
    if (failure.party != "client" || !page_ || (worker_ && supervisor_.failed_event(*worker_)))
        return; // another party's, or it told its phase itself
    const auto phase = measure::name_of(
        static_cast<measure::WorkerPhase>(page_->page().phase.load(std::memory_order_relaxed)));
    failure.reason += fmt::format(" while '{}' ({})", phase, failure.phase);
    failure.phase = phase;
}

// A worker that says that it failed tells what it had counted and noted.
void Run::keep_last_words() {
    if (page_)
        client_["last_counters"] = last_counters(page_->page());
    auto event = worker_ ? supervisor_.failed_event(*worker_) : std::nullopt;
    if (!event)
        return;
    for (const char* key : {"report", "notes"})
        if (Json* told = event->get_object().if_contains(key))
            client_[key] = std::move(*told);
}

Resources Run::resources() const {
    Resources result{.client = client_sample_.use(),
                     .peer = peer_sample_.use(),
                     .broker = broker_sample_.use(),
                     .host = {},
                     .condition = condition_,
                     .cpu_series = cpu_series_->to_json(),
                     .events = events_->use_between(events_before_, events_after_),
                     .tcp = tcp_,
                     .system_calls = system_calls_};
    Nanoseconds parties_ns = 0;
    for (const machine::ProcessUse* use : {&result.client, &result.peer, &result.broker})
        parties_ns += use->cpu_ns.value_or(0);
    result.host = machine::use_between(host_before_, host_after_, parties_ns, party_pids_);
    return result;
}

JsonObject Run::document(const std::optional<Failure>& failure) {
    const auto or_null = [](JsonObject& document, std::initializer_list<const char*> keys) {
        if (document.empty())
            return Json(nullptr);
        for (const char* key : keys)
            document.emplace(key, nullptr); // keeps what is there
        return Json(std::move(document));
    };
    JsonObject broker = broker_json(context_.witness, delta_);
    for (auto& member : broker_no_delay_)
        broker[member.key()] = std::move(member.value());
    const Resources used =
        is_sampled_ ? resources() : unavailable_resources("the run ended before its window did");
    return {{"schedule", schedule_.start_ns ? measure::to_json(schedule_) : Json(nullptr)},
            {"failure", failure ? to_json(*failure) : Json(nullptr)},
            {"client", or_null(client_, {"connect_ns", "report", "notes", "driver"})},
            {"peer", or_null(peer_document_, {"connected", "report"})},
            {"broker", std::move(broker)},
            {"resources", to_json(used)},
            {"log_tail", failure ? Json(log_tail(request_.log_file)) : Json(nullptr)}};
}

} // namespace

RunParts run_parties(RunContext context, const RunRequest& request) {
    return Run(context, request).perform();
}

Listener plain_or_tls(const Broker& broker) {
    const auto plain = broker.plain();
    return plain ? *plain : broker.tls().value_or(Listener{});
}

void fill_in(measure::Endpoint& endpoint, const Listener& listener) {
    endpoint.host = listener.host;
    endpoint.port = listener.port;
    endpoint.ca_file = listener.ca_file;
}

Nanoseconds tick_limit(const Broker& broker) {
    return (broker.identity().is_managed ? 5 : 25) * kSecond;
}

} // namespace mqcore::session
