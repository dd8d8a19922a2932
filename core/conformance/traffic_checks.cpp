// Checks with messages: completions, what arrives, what is sent on the wire, the end under load.

#include "conformance/exchange.hpp"

#include <fmt/format.h>

namespace mqcore::conformance {
namespace {

using support::kMillisecond;
using support::kSecond;

constexpr std::string_view kNoPublish = "it does not claim to publish";
constexpr std::string_view kNoSubscribe = "it does not claim to subscribe";

Verdict pass() { return {}; }
Verdict fail(std::string detail) { return {Outcome::fail, std::move(detail)}; }

std::uint64_t number(const Json& json, std::string_view key) {
    return support::unsigned_or(json, key, 0);
}

Json part(const Json& json, std::string_view key) {
    const Json* found = support::find(json, key);
    return found ? *found : Json(nullptr);
}

std::vector<Combination> acknowledged(std::vector<Combination> combinations) {
    std::erase_if(combinations, [](const Combination& it) { return it.qos == 0; });
    return combinations;
}

Verdict done_exactly_once(Bench& bench) {
    return judge_each(
        bench, publish_combinations(bench.claims()), {},
        [](Bench& on, const Traffic& traffic) -> Verdict {
            const Exchange exchange = publish(on, traffic);
            if (!exchange.step)
                return verdict_of(*exchange.step.trouble);
            for (const std::string_view rule : {"done-twice", "done-unknown-slot"})
                if (const std::string breach = exchange.step.misuse(rule); !breach.empty())
                    return fail(breach);
            if (exchange.sent() == 0)
                return fail("drive() took no message");
            if (exchange.failed() > 0)
                return fail(fmt::format("{} of {} messages were completed as failed",
                                        exchange.failed(), exchange.sent()));
            if (exchange.unfinished() > 0)
                return fail(fmt::format("{} of {} messages were never completed",
                                        exchange.unfinished(), exchange.sent()));
            return pass();
        },
        kNoPublish);
}

Verdict publishes_all(Bench& bench) {
    return judge_each(
        bench, publish_combinations(bench.claims()), {},
        [](Bench& on, const Traffic& traffic) -> Verdict {
            const Exchange exchange = publish(on, traffic);
            if (!exchange.step)
                return verdict_of(*exchange.step.trouble);
            const Json arrivals = exchange.arrivals();
            const std::uint64_t total = number(arrivals, "total");
            const std::uint64_t doubled = number(part(arrivals, "ledger"), "duplicates");
            if (exchange.sent() == 0)
                return fail("drive() took no message");
            const Json by_qos = part(exchange.served, "publishes");
            if (by_qos.is_array())
                for (std::uint32_t qos = 0; qos < by_qos.get_array().size(); ++qos)
                    if (const auto count = by_qos.get_array()[qos].to_number<std::uint64_t>();
                        count > 0 && qos != traffic.qos)
                        return fail(fmt::format("{} messages went out at QoS {}", count, qos));
            if (doubled > 0)
                return fail(fmt::format("{} messages arrived twice", doubled));
            if (total != exchange.sent())
                return fail(
                    fmt::format("drive() took {} messages, {} arrived", exchange.sent(), total));
            return pass();
        },
        kNoPublish);
}

Verdict done_not_early(Bench& bench) {
    Traffic traffic;
    traffic.behaviour.puback = measure::PubackAnswer::withhold;
    return judge_each(
        bench, acknowledged(publish_combinations(bench.claims())), traffic,
        [](Bench& on, const Traffic& withheld) -> Verdict {
            const Exchange exchange = publish(on, withheld);
            if (!exchange.step)
                return verdict_of(*exchange.step.trouble);
            if (exchange.completed() > 0)
                return fail(fmt::format("{} of {} messages were completed, and the server has not "
                                        "acknowledged any",
                                        exchange.completed(), exchange.sent()));
            return pass();
        },
        "it does not claim to publish above QoS 0");
}

Verdict receives_all(Bench& bench) {
    return judge_each(
        bench, subscribe_combinations(bench.claims()), {},
        [](Bench& on, const Traffic& traffic) -> Verdict {
            const Exchange exchange = receive(on, traffic);
            if (!exchange.step)
                return verdict_of(*exchange.step.trouble);
            const std::uint64_t delivered = number(part(exchange.neighbour, "send"), "sent");
            const Json arrivals = exchange.arrivals();
            const std::uint64_t total = number(arrivals, "total");
            if (const std::uint64_t doubled = number(part(arrivals, "ledger"), "duplicates"))
                return fail(fmt::format("{} messages were reported twice", doubled));
            if (total != delivered)
                return fail(
                    fmt::format("{} messages were sent to it, it reported {}", delivered, total));
            return pass();
        },
        kNoSubscribe);
}

// The sizes around the header of a payload and around the limits of the remaining length's encoding,
// and one that no socket buffer takes at once.
const std::vector<std::uint32_t> kSizes{20, 21, 100, 127, 128, 16'384, 300'000};

Verdict judge_damage(const Exchange& exchange) {
    if (!exchange.step)
        return verdict_of(*exchange.step.trouble);
    const Json arrivals = exchange.arrivals();
    if (const std::uint64_t damaged = number(arrivals, "damaged"))
        return fail(fmt::format("{} of {} payloads arrived changed, the first has {} bytes",
                                damaged, number(arrivals, "total"),
                                number(arrivals, "first_damaged_bytes")));
    if (const std::uint64_t strays = number(arrivals, "stray"))
        return fail(fmt::format("{} messages arrived that nobody sent in this run", strays));
    return pass();
}

// At the highest QoS that is claimed: payloads do not depend on it, and one run each is enough.
std::vector<Combination> at_highest_qos(const std::vector<Combination>& combinations) {
    std::vector<Combination> highest;
    for (const Combination& it : combinations) // in the order of protocol and QoS
        if (!highest.empty() && highest.back().protocol == it.protocol)
            highest.back() = it;
        else
            highest.push_back(it);
    return highest;
}

// Publishing, then receiving; the first breach is the verdict.
Verdict judge_both_ways(Bench& bench, const std::vector<Combination>& out,
                        const std::vector<Combination>& in, const Traffic& traffic,
                        Verdict (*judge)(const Exchange&)) {
    Verdict publishing = judge_each(
        bench, out, traffic,
        [=](Bench& on, const Traffic& each) { return judge(publish(on, each)); }, kNoPublish);
    if (is_breach(publishing.outcome) || bench.broken())
        return {publishing.outcome, "publishing, " + publishing.detail};
    Verdict receiving = judge_each(
        bench, in, traffic,
        [=](Bench& on, const Traffic& each) { return judge(receive(on, each)); }, kNoSubscribe);
    if (is_breach(receiving.outcome))
        return {receiving.outcome, "receiving, " + receiving.detail};
    return publishing.outcome == Outcome::skipped ? receiving : publishing;
}

Verdict payload_intact(Bench& bench) {
    Traffic traffic;
    traffic.payload_bytes = kSizes;
    traffic.messages = 3 * kSizes.size();
    traffic.window = 4;
    return judge_both_ways(bench, at_highest_qos(publish_combinations(bench.claims())),
                           at_highest_qos(subscribe_combinations(bench.claims())), traffic,
                           judge_damage);
}

Verdict judge_wire(const Exchange& exchange) {
    if (!exchange.step)
        return verdict_of(*exchange.step.trouble);
    if (const std::string fault = support::text_or(exchange.served, "fault", ""); !fault.empty())
        return fail(fmt::format("the server met the fault '{}': {}", fault,
                                support::text_or(exchange.served, "ended", "")));
    for (const std::string_view key :
         {"packet_id_reused", "unknown_acks", "receive_maximum_exceeded", "qos2_repeated"})
        if (const std::uint64_t times = number(exchange.served, key))
            return fail(fmt::format("the server counted {} of '{}'", times, key));
    return pass();
}

Verdict speaks_mqtt(Bench& bench) {
    return judge_both_ways(bench, publish_combinations(bench.claims()),
                           subscribe_combinations(bench.claims()), {}, judge_wire);
}

// At capacity with a full window until the end.
Verdict stops_in_time(Bench& bench) {
    Traffic traffic;
    traffic.messages = 1'000'000;
    traffic.drain_ns = 0;
    return judge_each(
        bench, publish_combinations(bench.claims()), traffic,
        [](Bench& on, const Traffic& full) -> Verdict {
            const Exchange exchange = publish(on, full);
            if (!exchange.step)
                return verdict_of(*exchange.step.trouble);
            const Nanoseconds returned = number(exchange.report, "returned_ns");
            const Nanoseconds late = returned - std::min(returned, exchange.schedule.end());
            if (late > kSecond)
                return fail(
                    fmt::format("drive() returned {} ms after the end", late / kMillisecond));
            if (late > 100 * kMillisecond)
                return {Outcome::warning,
                        fmt::format("drive() returned {} ms after the end", late / kMillisecond)};
            return pass();
        },
        kNoPublish);
}

Verdict lost_connection_is_error(Bench& bench) {
    Traffic traffic;
    traffic.behaviour.drop_connection_after = 10;
    return judge_each(
        bench, publish_combinations(bench.claims()), traffic,
        [](Bench& on, const Traffic& dropped) -> Verdict {
            const Exchange exchange = publish(on, dropped);
            if (exchange.step)
                return fail(
                    "the server dropped the connection, and drive() returned MQCORE_OK without a "
                    "word");
            if (exchange.step.trouble->outcome != Outcome::fail)
                return verdict_of(*exchange.step.trouble);
            if (exchange.step.trouble->status != "network")
                return fail(fmt::format("the status is '{}' ({}), 'network' is right",
                                        exchange.step.trouble->status,
                                        exchange.step.trouble->text));
            return pass();
        },
        kNoPublish);
}

Verdict silent_after_disconnect(Bench& bench) {
    // Completions and arrivals that come too late need time to come.
    Traffic traffic;
    traffic.ending = Traffic::Ending::finish;
    traffic.linger_ns = 200 * kMillisecond;
    const auto judge = [](const Exchange& exchange) -> Verdict {
        for (const std::string_view rule : {"done-after-disconnect", "received-after-disconnect"})
            if (const std::string breach = exchange.step.misuse(rule); !breach.empty())
                return fail(breach);
        return exchange.step ? pass() : verdict_of(*exchange.step.trouble);
    };
    const std::uint32_t protocol_bit =
        bench.claims().protocols & MQCORE_V5 ? MQCORE_V5 : MQCORE_V311;
    traffic.protocol = protocol_bit == MQCORE_V5 ? measure::Protocol::v5 : measure::Protocol::v311;
    if (bench.claims().publish_qos) {
        traffic.qos = highest_qos(bench.claims().publish_qos);
        Traffic unfinished = traffic;
        unfinished.behaviour.puback = measure::PubackAnswer::withhold;
        for (const Traffic& each : {traffic, unfinished})
            if (Verdict verdict = judge(publish(bench, each)); verdict.outcome != Outcome::pass)
                return verdict;
    }
    if (bench.claims().subscribe_qos && !bench.subject().descriptor.is_harness_floor) {
        traffic.qos = highest_qos(bench.claims().subscribe_qos);
        return judge(receive(bench, traffic));
    }
    return pass();
}

constexpr Check kChecks[] = {
    {"done-exactly-once", "every message is completed once, and none besides",
     "returns-only-after-stop", Place::worker, done_exactly_once},
    {"publishes-all", "every message arrives once, at its QoS", "returns-only-after-stop",
     Place::network, publishes_all},
    {"done-not-early", "no QoS 1 or 2 message is completed before its acknowledgement",
     "publishes-all", Place::network, done_not_early},
    {"receives-all", "every arrival is reported once", "returns-only-after-stop", Place::network,
     receives_all},
    {"payload-intact", "payloads of all sizes cross unchanged, both ways",
     "returns-only-after-stop", Place::network, payload_intact},
    {"speaks-mqtt", "the server meets no fault in what it is sent", "returns-only-after-stop",
     Place::network, speaks_mqtt},
    {"stops-in-time", "drive() returns at STOP with a full window, within 100 ms",
     "returns-only-after-stop", Place::worker, stops_in_time},
    {"lost-connection-is-error", "drive() fails with MQCORE_NETWORK when the connection is lost",
     "returns-only-after-stop", Place::network, lost_connection_is_error},
    {"silent-after-disconnect", "no callback comes after disconnect() has returned", "disconnects",
     Place::worker, silent_after_disconnect},
};

} // namespace

std::span<const Check> traffic_checks() { return kChecks; }

} // namespace mqcore::conformance
