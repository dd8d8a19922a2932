#include "conformance/exchange.hpp"

#include <bit>
#include <fmt/format.h>

namespace mqcore::conformance {
namespace {

using support::kMillisecond;
using support::now_ns;

constexpr std::uint32_t kTag = 0x6d71;

measure::SendSpec send_spec(const Traffic& traffic) {
    return {.topics = traffic.topics,
            .payload_bytes = traffic.payload_bytes,
            .qos = traffic.qos,
            .rate = traffic.rate,
            .pacing = measure::Pacing::tick,
            .window = traffic.window,
            .tag = kTag,
            .limit = traffic.messages,
            .properties = traffic.properties};
}

measure::ReceiveSpec receive_spec(const Traffic& traffic) {
    return {.filters = traffic.filters,
            .qos = traffic.qos,
            .tag = kTag,
            .payload_bytes = traffic.payload_bytes,
            .rate = std::nullopt,
            .properties = traffic.properties};
}

Json part(const Json& json, std::string_view key) {
    const Json* found = support::find(json, key);
    return found ? *found : Json(nullptr);
}

// The worker's own way through the exchange; the neighbour drives beside it.
void run(Bench& bench, const Traffic& traffic, const measure::WorkerSpec& spec, Server* server,
         std::optional<measure::PeerSpec> neighbour_spec, Exchange& exchange) {
    std::optional<Neighbour> neighbour;
    if (neighbour_spec)
        neighbour.emplace(bench, *std::move(neighbour_spec), server->port());
    Trial trial(bench);
    exchange.step = trial.reach_connected(spec);
    if (!exchange.step || bench.broken())
        return;
    // Both sides shall have their schedule before it begins.
    constexpr Nanoseconds kHeadStart = 20 * kMillisecond;
    exchange.schedule = schedule_from_now(traffic.window_ns, traffic.drain_ns);
    exchange.schedule.start_ns += kHeadStart;
    if (neighbour)
        neighbour->drive(exchange.schedule);
    exchange.step = trial.drive(exchange.schedule);
    exchange.report = exchange.step.report();
    exchange.conduct = part(exchange.step.event, "conduct");
    if (server && !bench.broken()) {
        exchange.all_served = server->connections();
        exchange.served = server->connection(spec.endpoint.client_id);
    }
    if (neighbour && exchange.step)
        exchange.neighbour = neighbour->report();
    if (exchange.step && traffic.ending == Traffic::Ending::finish) {
        exchange.step = trial.finish(traffic.linger_ns);
        if (server && !bench.broken())
            exchange.served = server->connection(spec.endpoint.client_id);
    }
}

} // namespace

std::uint64_t Exchange::sent() const {
    const Json own = part(report, "send");
    return support::unsigned_or(own.is_null() ? part(neighbour, "send") : own, "sent", 0);
}
std::uint64_t Exchange::completed() const {
    return support::unsigned_or(part(report, "send"), "completed", 0);
}
std::uint64_t Exchange::failed() const {
    return support::unsigned_or(part(report, "send"), "failed", 0);
}
std::uint64_t Exchange::unfinished() const {
    return support::unsigned_or(part(report, "send"), "unfinished", 0);
}
Json Exchange::arrivals() const {
    const Json own = part(report, "receive");
    return own.is_null() ? part(neighbour, "receive") : own;
}

Exchange publish(Bench& bench, const Traffic& traffic) {
    Exchange exchange;
    const bool has_network = !bench.subject().descriptor.is_harness_floor;
    std::optional<Server> server;
    std::optional<measure::PeerSpec> sink;
    if (has_network) {
        server.emplace(bench, traffic.behaviour);
        sink = measure::PeerSpec{.role = measure::PeerRole::sink,
                                 .endpoint = {.protocol = traffic.protocol},
                                 .send = std::nullopt,
                                 .receive = receive_spec(traffic)};
    }
    measure::WorkerSpec spec =
        bench.specification(traffic.protocol, server ? server->port() : closed_port(bench));
    spec.connections = traffic.connections;
    spec.send = send_spec(traffic);
    spec.send->topic_alias = traffic.topic_alias;
    if (!bench.broken())
        run(bench, traffic, spec, server ? &*server : nullptr, std::move(sink), exchange);
    return exchange;
}

Exchange receive(Bench& bench, const Traffic& traffic) {
    Exchange exchange;
    Server server(bench, traffic.behaviour);
    measure::WorkerSpec spec = bench.specification(traffic.protocol, server.port());
    spec.connections = traffic.connections;
    spec.receive = receive_spec(traffic);
    if (!bench.broken())
        run(bench, traffic, spec, &server,
            measure::PeerSpec{.role = measure::PeerRole::source,
                              .endpoint = {},
                              .send = send_spec(traffic),
                              .receive = std::nullopt},
            exchange);
    return exchange;
}

namespace {

std::vector<Combination> combinations(std::uint32_t protocols, std::uint32_t qos_bits) {
    std::vector<Combination> all;
    for (const auto& [bit, protocol] :
         {std::pair{MQCORE_V311, measure::Protocol::v311}, {MQCORE_V5, measure::Protocol::v5}})
        for (std::uint32_t qos = 0; qos <= 2; ++qos)
            if (protocols & bit && qos_bits >> qos & 1u)
                all.push_back({protocol, qos});
    return all;
}

} // namespace

std::vector<Combination> publish_combinations(const driver::Claims& claims) {
    return combinations(claims.protocols, claims.publish_qos);
}
std::vector<Combination> subscribe_combinations(const driver::Claims& claims) {
    return combinations(claims.protocols, claims.subscribe_qos);
}
std::uint32_t highest_qos(std::uint32_t qos_bits) {
    return qos_bits ? static_cast<std::uint32_t>(std::bit_width(qos_bits)) - 1 : 0;
}

Verdict judge_each(Bench& bench, const std::vector<Combination>& combinations, Traffic traffic,
                   const Judge& judge, std::string_view lacks) {
    if (combinations.empty())
        return {Outcome::skipped, std::string(lacks)};
    Verdict worst;
    for (const Combination& combination : combinations) {
        traffic.protocol = combination.protocol;
        traffic.qos = combination.qos;
        Verdict verdict = judge(bench, traffic);
        if (verdict.outcome == Outcome::fail && !bench.broken()) {
            Traffic slower = traffic;
            slower.window_ns *= 10;
            slower.drain_ns *= 10;
            verdict = judge(bench, slower);
        }
        if (bench.broken())
            return verdict;
        if (!verdict.detail.empty())
            verdict.detail = fmt::format("MQTT {}, QoS {}: {}", name_of(combination.protocol),
                                         combination.qos, verdict.detail);
        if (is_breach(verdict.outcome))
            return verdict;
        if (verdict.outcome != Outcome::pass)
            worst = std::move(verdict);
    }
    return worst;
}

namespace {

Judge exchanged(Exchange (*exchange)(Bench&, const Traffic&), ExchangeJudge judge) {
    return [exchange, judge = std::move(judge)](Bench& bench, const Traffic& traffic) -> Verdict {
        const Exchange done = exchange(bench, traffic);
        return done.step ? judge(done, traffic) : verdict_of(*done.step.trouble);
    };
}

} // namespace

Judge published(ExchangeJudge judge) { return exchanged(publish, std::move(judge)); }
Judge received(ExchangeJudge judge) { return exchanged(receive, std::move(judge)); }

Verdict verdict_of(const Trouble& trouble) { return {trouble.outcome, trouble.text}; }

} // namespace mqcore::conformance
