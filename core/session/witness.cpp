#include "session/witness.hpp"

#include "measure/specification.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace mqcore::session {
namespace {

using support::Error;
using support::ErrorCode;
using support::JsonObject;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;
using support::Result;

constexpr Nanoseconds kConnectLimit = 15 * kSecond;
constexpr Nanoseconds kDrivenGrace = 3 * kSecond;
constexpr Nanoseconds kAnswerGrace = 2 * kSecond;
// Mosquitto of ours ticks every 2 s at most; somebody else's has 10 s by default.
constexpr Nanoseconds kOwnTickLimit = 5 * kSecond;
constexpr Nanoseconds kForeignTickLimit = 25 * kSecond;
// The handful takes a few milliseconds; the rest is room for a busy machine.
constexpr measure::Schedule kHandfulSchedule{
    .start_ns = 0, .warmup_ns = 0, .window_ns = 150 * kMillisecond, .drain_ns = 100 * kMillisecond};
constexpr Nanoseconds kLead = 20 * kMillisecond;
// Like the probe's own margin: a tick is written on loopback, a scheduler's delay is far shorter.
constexpr Nanoseconds kLongestWay = 100 * kMillisecond;

// Per message: PUBLISH; PUBLISH and PUBACK; PUBLISH, PUBREC, PUBREL and PUBCOMP over both legs.
// What the broker receives of it and what it sends are the same number.
constexpr std::array<std::uint64_t, 3> kPacketsPerMessage = {1, 2, 4};

std::optional<std::uint64_t> change_of(const Json& before, const Json& after,
                                       std::string_view counter) {
    const Json* from = support::find(before, counter);
    const Json* to = support::find(after, counter);
    if (!from || !to)
        return std::nullopt;
    const std::uint64_t start = support::unsigned_or(before, counter, 0);
    const std::uint64_t end = support::unsigned_or(after, counter, 0);
    return end >= start ? std::optional(end - start) : std::nullopt;
}

// The amounts are 1, 2 and 4 times ten, so a sum tells which of them are in it.
std::array<Sight, 3> sights_of(std::optional<std::uint64_t> change) {
    std::array<Sight, 3> sights{};
    sights.fill(change ? Sight::unclear : Sight::unread);
    if (!change || *change % kHandful[0] != 0 || *change / kHandful[0] > 7)
        return sights;
    const std::uint64_t members = *change / kHandful[0];
    for (std::size_t qos = 0; qos < sights.size(); ++qos)
        sights[qos] = members >> qos & 1 ? Sight::exact : Sight::blind;
    return sights;
}

Sight sight_of_packets(std::optional<std::uint64_t> change, std::uint64_t control_packets) {
    if (!change)
        return Sight::unread;
    std::uint64_t expected = control_packets;
    for (std::size_t qos = 0; qos < kHandful.size(); ++qos)
        expected += kHandful[qos] * kPacketsPerMessage[qos];
    return *change == expected ? Sight::exact : *change == 0 ? Sight::blind : Sight::unclear;
}

Error error_of(const Failure& failure) {
    return {failure.status == "interrupted" ? ErrorCode::interrupted
            : failure.party == "broker"     ? ErrorCode::broker
            : failure.party == "host"       ? ErrorCode::host
                                            : ErrorCode::peer,
            failure.reason,
            {}};
}

// A sink and a source of one QoS.
struct Pair {
    std::unique_ptr<Child> sink, source;
};

class Handful {
  public:
    Handful(Supervisor& supervisor, const LearnOptions& options)
        : supervisor_(supervisor), options_(options) {}

    // The end of the exchange; a failure when it was not complete.
    std::variant<Nanoseconds, Failure> exchange();
    // CONNECT of six parties and SUBSCRIBE of three.
    static constexpr std::uint64_t kControlPackets = 9;
    void finish();

  private:
    std::optional<Failure> start(std::uint32_t qos);
    std::optional<Failure> connect();
    std::optional<Failure> collect(std::uint32_t qos, Nanoseconds deadline);
    measure::PeerSpec spec_of(measure::PeerRole role, std::uint32_t qos) const;

    Supervisor& supervisor_;
    const LearnOptions& options_;
    std::array<Pair, 3> pairs_;
};

measure::PeerSpec Handful::spec_of(measure::PeerRole role, std::uint32_t qos) const {
    const std::string topic = fmt::format("{}/witness/{}", options_.id_prefix, qos);
    measure::PeerSpec spec{.role = role,
                           .endpoint = {.host = options_.listener.host,
                                        .port = options_.listener.port,
                                        .ca_file = options_.listener.ca_file,
                                        .client_id = fmt::format("{}-w{}-{}", options_.id_prefix,
                                                                 qos, measure::name_of(role))},
                           .send = {},
                           .receive = {}};
    constexpr std::uint32_t kPayloadBytes = 64;
    if (role == measure::PeerRole::source)
        spec.send = measure::SendSpec{.topics = {topic},
                                      .payload_bytes = {kPayloadBytes},
                                      .qos = qos,
                                      .rate = {},
                                      .tag = qos + 1,
                                      .limit = kHandful[qos]};
    else
        spec.receive = measure::ReceiveSpec{.filters = {topic},
                                            .qos = qos,
                                            .tag = qos + 1,
                                            .payload_bytes = {kPayloadBytes},
                                            .rate = {}};
    return spec;
}

std::optional<Failure> Handful::start(std::uint32_t qos) {
    for (auto* child : {&pairs_[qos].sink, &pairs_[qos].source}) {
        auto started = supervisor_.start({.name = "peer of the broker's trial",
                                          .party = "harness",
                                          .program = options_.peer_program,
                                          .arguments = {},
                                          .cpus = options_.cpus,
                                          .log_file = options_.log_file,
                                          .environment = {}});
        if (!started)
            return Failure{"host", "witness", "failed", support::one_line(started.error())};
        *child = std::move(*started);
    }
    const auto connect = [&](Child& child, measure::PeerRole role) {
        child.tell(JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec_of(role, qos))}});
    };
    connect(*pairs_[qos].sink, measure::PeerRole::sink);
    connect(*pairs_[qos].source, measure::PeerRole::source);
    return std::nullopt;
}

std::optional<Failure> Handful::connect() {
    for (std::uint32_t qos = 0; qos < pairs_.size(); ++qos)
        if (auto failure = start(qos))
            return failure;
    const Nanoseconds deadline = now_ns() + kConnectLimit;
    for (const Pair& pair : pairs_)
        for (Child* child : {pair.sink.get(), pair.source.get()})
            if (Reply reply = supervisor_.expect(*child, "connected", deadline); !reply)
                return reply.failure;
    return std::nullopt;
}

std::optional<Failure> Handful::collect(std::uint32_t qos, Nanoseconds deadline) {
    const Reply sent = supervisor_.expect(*pairs_[qos].source, "driven", deadline);
    if (!sent)
        return sent.failure;
    const Reply received = supervisor_.expect(*pairs_[qos].sink, "driven", deadline);
    if (!received)
        return received.failure;
    const auto count = [](const Json& event, std::string_view half, std::string_view key) {
        const Json* report = support::find(event, "report");
        const Json* part = report ? support::find(*report, half) : nullptr;
        return part ? support::unsigned_or(*part, key, 0) : 0;
    };
    const std::uint64_t completed = count(sent.event, "send", "completed");
    const std::uint64_t total = count(received.event, "receive", "total");
    if (completed != kHandful[qos] || total != kHandful[qos])
        return Failure{"broker", "witness", "incomplete",
                       fmt::format("of {} messages at QoS {} {} were completed and {} arrived",
                                   kHandful[qos], qos, completed, total)};
    return std::nullopt;
}

std::variant<Nanoseconds, Failure> Handful::exchange() {
    if (auto failure = connect())
        return std::move(*failure);
    measure::Schedule schedule = kHandfulSchedule;
    schedule.start_ns = now_ns() + kLead;
    for (const Pair& pair : pairs_)
        for (Child* child : {pair.sink.get(), pair.source.get()})
            child->tell(JsonObject{{"do", "drive"}, {"schedule", measure::to_json(schedule)}});
    for (std::uint32_t qos = 0; qos < pairs_.size(); ++qos)
        if (auto failure = collect(qos, schedule.end() + kDrivenGrace))
            return std::move(*failure);
    return now_ns();
}

void Handful::finish() {
    for (const Pair& pair : pairs_)
        for (Child* child : {pair.sink.get(), pair.source.get()})
            if (child) {
                child->expect_end();
                child->tell(JsonObject{{"do", "finish"}});
            }
    for (const Pair& pair : pairs_)
        for (Child* child : {pair.sink.get(), pair.source.get()})
            if (child)
                supervisor_.wait_for_end(*child, now_ns() + kSecond);
}

Reading reading_from(const Json& event) {
    const Json* counters = support::find(event, "counters");
    return {.is_fresh = support::boolean_or(event, "fresh", false),
            .at_ns = support::unsigned_or(event, "at_ns", 0),
            .counters = counters ? *counters : Json(JsonObject{})};
}

bool ends_the_session(const Failure& failure, const Probe& probe) {
    return failure.status == "interrupted" || !probe.is_running() ||
           (failure.party == "broker" && failure.status != "incomplete");
}

} // namespace

std::string_view name_of(Sight sight) {
    constexpr std::string_view kNames[] = {"exact", "blind", "unclear", "unread"};
    return kNames[static_cast<std::size_t>(sight)];
}

Json to_json(const BrokerWitness& witness) {
    const auto by_qos = [](const std::array<Sight, 3>& sights) {
        JsonObject object;
        for (std::size_t qos = 0; qos < sights.size(); ++qos)
            object[fmt::format("qos{}", qos)] = name_of(sights[qos]);
        return object;
    };
    return JsonObject{{"publish_received", by_qos(witness.publish_received)},
                      {"publish_sent", by_qos(witness.publish_sent)},
                      {"messages_received", name_of(witness.messages_received)},
                      {"messages_sent", name_of(witness.messages_sent)},
                      {"reason", witness.reason}};
}

Result<std::unique_ptr<Probe>> Probe::start(Supervisor& supervisor, const ProbeOptions& options) {
    auto child = supervisor.start({.name = "probe",
                                   .party = "harness",
                                   .program = options.peer_program,
                                   .arguments = {},
                                   .cpus = options.cpus,
                                   .log_file = options.log_file,
                                   .environment = {}});
    if (!child)
        return child.error();
    const measure::PeerSpec spec{.role = measure::PeerRole::probe,
                                 .endpoint = {.host = options.listener.host,
                                              .port = options.listener.port,
                                              .ca_file = options.listener.ca_file,
                                              .client_id = options.client_id},
                                 .send = {},
                                 .receive = {}};
    const Reply reply =
        supervisor.ask(**child, JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec)}},
                       "connected", now_ns() + kConnectLimit);
    if (!reply)
        return error_of(*reply.failure);
    // "127.0.0.1:40132", "[::1]:40132"
    const std::string local = support::text_or(reply.event, "local", "");
    const std::size_t colon = local.rfind(':');
    std::uint16_t port = 0;
    if (colon != std::string::npos)
        std::from_chars(local.data() + colon + 1, local.data() + local.size(), port);
    return std::unique_ptr<Probe>(new Probe(supervisor, std::move(*child), port));
}

void Probe::request(Nanoseconds newer_than_ns, Nanoseconds timeout_ns) {
    if (is_awaited())
        return;
    child_->tell(
        JsonObject{{"do", "read"}, {"newer_than_ns", newer_than_ns}, {"timeout_ns", timeout_ns}});
    asked_newer_than_ns_ = newer_than_ns;
    deadline_ns_ = now_ns() + timeout_ns + kAnswerGrace;
}

// The probe itself proves freshness for the instant it was asked about. For a later one the arrival
// of the tick must be later still, by more than a tick may take from the broker to the probe.
bool Probe::is_answer_to(const Reading& reading, Nanoseconds newer_than_ns) const {
    return asked_newer_than_ns_ >= newer_than_ns ||
           (reading.is_fresh && reading.at_ns > newer_than_ns + kLongestWay);
}

std::optional<Reading> Probe::take_if_there(Nanoseconds newer_than_ns) {
    const auto event = supervisor_.poll(*child_, "reading");
    if (!event)
        return std::nullopt;
    deadline_ns_ = 0;
    Reading reading = reading_from(*event);
    return is_answer_to(reading, newer_than_ns) ? std::optional(std::move(reading)) : std::nullopt;
}

std::variant<Reading, Failure> Probe::take(Nanoseconds newer_than_ns, Nanoseconds timeout_ns) {
    for (;;) {
        request(newer_than_ns, timeout_ns);
        Reply reply = supervisor_.expect(*child_, "reading", deadline_ns_);
        deadline_ns_ = 0;
        if (!reply)
            return std::move(*reply.failure);
        Reading reading = reading_from(reply.event);
        if (is_answer_to(reading, newer_than_ns))
            return reading;
    }
}

BrokerWitness witness_of(const Json& before, const Json& after, std::uint64_t control_packets) {
    const auto change = [&](std::string_view counter) { return change_of(before, after, counter); };
    BrokerWitness witness;
    witness.publish_received = sights_of(change("publish/messages/received"));
    witness.publish_sent = sights_of(change("publish/messages/sent"));
    witness.messages_received = sight_of_packets(change("messages/received"), control_packets);
    witness.messages_sent = sight_of_packets(change("messages/sent"), control_packets);
    return witness;
}

Result<Learnt> learn_witness(Supervisor& supervisor, Probe& probe, const LearnOptions& options) {
    const Nanoseconds tick_limit = options.is_fresh_broker ? kOwnTickLimit : kForeignTickLimit;
    Learnt learnt;
    const auto give_up = [&](const Failure& failure) -> Result<Learnt> {
        if (ends_the_session(failure, probe))
            return error_of(failure);
        learnt.witness.reason = failure.reason;
        return learnt;
    };
    // A fresh broker counts from 0, and nobody but the probe (which takes itself out) has connected
    // yet; somebody else's broker has to be read first.
    Reading before{.is_fresh = true,
                   .at_ns = now_ns(),
                   .counters = JsonObject{{"publish/messages/received", 0},
                                          {"publish/messages/sent", 0},
                                          {"messages/received", 0},
                                          {"messages/sent", 0}}};
    if (!options.is_fresh_broker) {
        auto read = probe.take(now_ns(), tick_limit);
        if (const Failure* failure = std::get_if<Failure>(&read))
            return give_up(*failure);
        before = std::move(std::get<Reading>(read));
    }
    if (!before.is_fresh) {
        learnt.witness.reason = fmt::format(
            "no new $SYS counters within {} s (are they off, or denied?)", tick_limit / kSecond);
        return learnt;
    }
    Handful handful(supervisor, options);
    auto exchanged = handful.exchange();
    if (const Failure* failure = std::get_if<Failure>(&exchanged)) {
        handful.finish();
        return give_up(*failure);
    }
    auto read = probe.take(std::get<Nanoseconds>(exchanged), tick_limit);
    handful.finish();
    if (const Failure* failure = std::get_if<Failure>(&read))
        return give_up(*failure);
    const Reading& after = std::get<Reading>(read);
    if (!after.is_fresh) {
        learnt.witness.reason =
            fmt::format("no new $SYS counters within {} s of the trial", tick_limit / kSecond);
        return learnt;
    }
    learnt.witness = witness_of(before.counters, after.counters, Handful::kControlPackets);
    learnt.last = after;
    return learnt;
}

} // namespace mqcore::session
