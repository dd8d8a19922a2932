// Checks with messages: completions, what arrives, what is sent on the wire, the end under load.

#include "conformance/exchange.hpp"
#include "measure/histogram.hpp"

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
    return judge_each(bench, publish_combinations(bench.claims()), {},
                      published([](const Exchange& exchange, const Traffic&) -> Verdict {
                          for (const std::string_view rule : {"done-twice", "done-unknown-slot"})
                              if (const std::string breach = exchange.step.misuse(rule);
                                  !breach.empty())
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
                      }),
                      kNoPublish);
}

Verdict publishes_all(Bench& bench) {
    return judge_each(
        bench, publish_combinations(bench.claims()), {},
        published([](const Exchange& exchange, const Traffic& traffic) -> Verdict {
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
        }),
        kNoPublish);
}

Verdict done_not_early(Bench& bench) {
    Traffic traffic;
    traffic.behaviour.puback = measure::PubackAnswer::withhold;
    return judge_each(
        bench, acknowledged(publish_combinations(bench.claims())), traffic,
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            if (exchange.completed() > 0)
                return fail(fmt::format("{} of {} messages were completed, and the server has not "
                                        "acknowledged any",
                                        exchange.completed(), exchange.sent()));
            return pass();
        }),
        "it does not claim to publish above QoS 0");
}

Verdict receives_all(Bench& bench) {
    return judge_each(
        bench, subscribe_combinations(bench.claims()), {},
        received([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t delivered = number(part(exchange.neighbour, "send"), "sent");
            const Json arrivals = exchange.arrivals();
            const std::uint64_t total = number(arrivals, "total");
            if (const std::uint64_t doubled = number(part(arrivals, "ledger"), "duplicates"))
                return fail(fmt::format("{} messages were reported twice", doubled));
            if (total != delivered)
                return fail(
                    fmt::format("{} messages were sent to it, it reported {}", delivered, total));
            return pass();
        }),
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

// What the worker handed out and what the server was sent, message by message, for the first of them.
Verdict judge_first(const Exchange& exchange, const Traffic& traffic,
                    Verdict (*judge)(std::uint64_t sequence, const Json& served,
                                     const Traffic& traffic, Nanoseconds stamp_ns)) {
    if (!exchange.step)
        return verdict_of(*exchange.step.trouble);
    const Json first = part(exchange.served, "first"),
               stamps = part(exchange.conduct, "first_stamps_ns");
    if (!first.is_array() || first.get_array().empty() || !stamps.is_array())
        return fail("no message reached the server");
    for (const Json& served : first.get_array()) {
        const std::uint64_t sequence = number(served, "sequence");
        if (sequence >= stamps.get_array().size())
            continue; // one that came later, in place of a lost one
        if (Verdict verdict = judge(sequence, served, traffic,
                                    stamps.get_array()[sequence].to_number<Nanoseconds>());
            verdict.outcome != Outcome::pass)
            return verdict;
    }
    return pass();
}

Verdict topic_right(Bench& bench) {
    Traffic traffic;
    traffic.topics = {"mqcore/check/a", "mqcore/check/b/c", "mqcore/check/\xC3\xA4\xE6\xB7\xB1"};
    return judge_each(
        bench, at_highest_qos(publish_combinations(bench.claims())), traffic,
        [](Bench& on, const Traffic& three) -> Verdict {
            return judge_first(publish(on, three), three,
                               [](std::uint64_t sequence, const Json& served, const Traffic& of,
                                  Nanoseconds) -> Verdict {
                                   const std::string& due = of.topics[sequence % of.topics.size()];
                                   const std::string found = support::text_or(served, "topic", "");
                                   if (found == due)
                                       return pass();
                                   return fail(
                                       fmt::format("message {} went out on '{}', its topic is '{}'",
                                                   sequence, found, due));
                               });
        },
        kNoPublish);
}

Verdict stamp_kept(Bench& bench) {
    return judge_each(
        bench, at_highest_qos(publish_combinations(bench.claims())), {},
        [](Bench& on, const Traffic& traffic) -> Verdict {
            return judge_first(publish(on, traffic), traffic,
                               [](std::uint64_t sequence, const Json& served, const Traffic&,
                                  Nanoseconds stamp_ns) -> Verdict {
                                   const Nanoseconds found = number(served, "stamp_ns");
                                   if (found == stamp_ns)
                                       return pass();
                                   return fail(
                                       fmt::format("message {} went out with the time {}, the "
                                                   "core had written {}",
                                                   sequence, found, stamp_ns));
                               });
        },
        kNoPublish);
}

// Large payloads, so that a call takes long enough to be met by another.
Verdict received_one_at_a_time(Bench& bench) {
    Traffic traffic;
    traffic.payload_bytes = {300'000};
    traffic.messages = 10;
    return judge_each(
        bench, at_highest_qos(subscribe_combinations(bench.claims())), traffic,
        [](Bench& on, const Traffic& large) -> Verdict {
            const Exchange exchange = receive(on, large);
            if (const std::string breach = exchange.step.misuse("received-at-once");
                !breach.empty())
                return fail(breach);
            return exchange.step ? pass() : verdict_of(*exchange.step.trouble);
        },
        kNoSubscribe);
}

// With acknowledgements withheld a driver takes what fits into the window, and no library of a declared
// shape takes less: a loop that finishes one message before it asks for the next has a window of one.
Verdict shape_as_declared(Bench& bench) {
    Traffic traffic;
    traffic.window = 16;
    if (const std::uint32_t most = bench.claims().max_window; most && most < traffic.window)
        traffic.window = most;
    traffic.behaviour.puback = measure::PubackAnswer::withhold;
    Verdict filled = judge_each(
        bench, at_highest_qos(acknowledged(publish_combinations(bench.claims()))), traffic,
        published([](const Exchange& exchange, const Traffic& withheld) -> Verdict {
            if (exchange.sent() < withheld.window)
                return fail(fmt::format("with {} messages in flight allowed it took {} and waited",
                                        withheld.window, exchange.sent()));
            return pass();
        }),
        "it does not claim to publish above QoS 0");
    if (filled.outcome != Outcome::pass || bench.claims().shape != MQCORE_SHAPE_AWAITED)
        return filled;
    // A coroutine goes on where it awaited its publish: on the thread of the loop.
    return judge_each(
        bench, at_highest_qos(acknowledged(publish_combinations(bench.claims()))), {},
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t elsewhere = number(exchange.conduct, "completed_elsewhere");
            return elsewhere == 0
                       ? pass()
                       : fail(fmt::format("its shape is 'awaited', and {} of {} messages were "
                                          "completed on another thread than drive()'s",
                                          elsewhere, exchange.sent()));
        }),
        kNoPublish);
}

// The median: a busy machine delays some messages, a loop that does not keep the time delays all.
Verdict sends_when_due(Bench& bench) {
    constexpr Nanoseconds kLimit = 10 * kMillisecond;
    Traffic traffic;
    traffic.rate = 500;
    traffic.window_ns = 200 * kMillisecond;
    std::string told;
    Verdict verdict =
        judge_each(bench, at_highest_qos(publish_combinations(bench.claims())), traffic,
                   published([&](const Exchange& exchange, const Traffic& paced) -> Verdict {
                       const auto lag = measure::Histogram::from_json(
                           part(part(exchange.report, "send"), "lag"));
                       if (!lag || lag->count() == 0)
                           return fail("it took no message that was due");
                       const Nanoseconds median = lag->quantile(0.5).value_or(0);
                       told = fmt::format("lag at {} messages/s: p50 {} µs, p99 {} µs", *paced.rate,
                                          median / 1000, lag->quantile(0.99).value_or(0) / 1000);
                       return median <= kLimit
                                  ? pass()
                                  : fail(fmt::format("half of the messages were taken more than {} "
                                                     "ms after they were due",
                                                     median / kMillisecond));
                   }),
                   kNoPublish);
    if (verdict.outcome == Outcome::pass)
        verdict.detail = told;
    return verdict;
}

// Two workers, one with many messages and one with few: what the first grew more, a message. At the
// highest QoS, where the window bounds what the library may keep.
Verdict memory_bounded(Bench& bench) {
    constexpr std::uint32_t kPayload = 4096;
    constexpr std::uint64_t kFew = 200,
                            kMany = 8000; // enough for a collector of garbage to collect
    Traffic traffic;
    traffic.payload_bytes = {kPayload};
    traffic.window = 16;
    return judge_each(
        bench, at_highest_qos(acknowledged(publish_combinations(bench.claims()))), traffic,
        [=](Bench& on, const Traffic& base) -> Verdict {
            const auto growth_kib = [&](std::uint64_t messages, std::uint64_t& sent,
                                        std::optional<Verdict>& trouble) -> double {
                Traffic these = base;
                these.messages = messages;
                these.window_ns = std::max<Nanoseconds>(base.window_ns, 250 * kMillisecond);
                const Exchange exchange = publish(on, these);
                if (!exchange.step)
                    trouble = verdict_of(*exchange.step.trouble);
                sent = exchange.sent();
                const Json rss = part(exchange.conduct, "rss_kib");
                return rss.is_array() ? rss.get_array()[1].to_number<double>() -
                                            rss.get_array()[0].to_number<double>()
                                      : 0;
            };
            std::optional<Verdict> trouble;
            std::uint64_t few = 0, many = 0;
            const double grown_few = growth_kib(kFew, few, trouble);
            const double grown_many = trouble ? 0 : growth_kib(kMany, many, trouble);
            if (trouble)
                return *trouble;
            if (many <= few)
                return pass(); // it sends too few in this time to tell
            const double bytes = (grown_many - grown_few) * 1024 / static_cast<double>(many - few);
            return bytes < kPayload / 2
                       ? pass()
                       : fail(fmt::format("its memory grew by {:.0f} bytes a message of {} bytes: "
                                          "{:.0f} KiB with {} messages, {:.0f} KiB with {}",
                                          bytes, kPayload, grown_few, few, grown_many, many));
        },
        "it does not claim to publish above QoS 0");
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
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            const Nanoseconds returned = number(exchange.report, "returned_ns");
            const Nanoseconds late = returned - std::min(returned, exchange.schedule.end());
            if (late > kSecond)
                return fail(
                    fmt::format("drive() returned {} ms after the end", late / kMillisecond));
            if (late > 100 * kMillisecond)
                return {Outcome::warning,
                        fmt::format("drive() returned {} ms after the end", late / kMillisecond)};
            return pass();
        }),
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
    {"sink", "done-exactly-once",
     "every message is completed once before the drain ends, and none besides",
     "returns-only-after-stop", Place::worker, done_exactly_once},
    {"wire", "publishes-all", "every message arrives once, at its QoS", "returns-only-after-stop",
     Place::network, publishes_all},
    {"sink", "done-not-early", "no QoS 1 or 2 message is completed before its acknowledgement",
     "publishes-all", Place::network, done_not_early},
    {"wire", "receives-all", "every arrival is reported once", "returns-only-after-stop",
     Place::network, receives_all},
    {"sink", "received-one-at-a-time", "received() is called by one thread at a time",
     "receives-all", Place::network, received_one_at_a_time},
    {"wire", "payload-intact", "payloads of all sizes cross unchanged, both ways",
     "returns-only-after-stop", Place::network, payload_intact},
    {"wire", "stamp-kept", "each message goes out with the time that the core wrote",
     "returns-only-after-stop", Place::network, stamp_kept},
    {"wire", "topic-right", "each message goes out on its topic", "returns-only-after-stop",
     Place::network, topic_right},
    {"wire", "speaks-mqtt", "the server meets no fault in what it is sent",
     "returns-only-after-stop", Place::network, speaks_mqtt},
    {"behaviour", "shape-as-declared",
     "messages are in flight as the declared shape and window say", "publishes-all", Place::network,
     shape_as_declared},
    {"behaviour", "sends-when-due", "messages at a fixed rate are taken when they are due",
     "returns-only-after-stop", Place::worker, sends_when_due},
    {"behaviour", "memory-bounded", "memory does not grow with the number of messages",
     "done-exactly-once", Place::network, memory_bounded},
    {"behaviour", "stops-in-time", "drive() returns at STOP with a full window, within 100 ms",
     "returns-only-after-stop", Place::worker, stops_in_time},
    {"behaviour", "lost-connection-is-error",
     "drive() fails with MQCORE_NETWORK when the connection is lost", "returns-only-after-stop",
     Place::network, lost_connection_is_error},
    {"sink", "silent-after-disconnect", "no callback comes after disconnect() has returned",
     "disconnects", Place::worker, silent_after_disconnect},
};

} // namespace

std::span<const Check> traffic_checks() { return kChecks; }

} // namespace mqcore::conformance
