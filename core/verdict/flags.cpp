#include "support/text.hpp"
#include "verdict/accounts.hpp"
#include "verdict/context.hpp"
#include "verdict/scopes.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using support::format_count;
using namespace scopes;

using Raised = std::optional<std::string>; // the detail, or nothing when the flag stays down

Raised raise_broker_bound(const RunView& run, const Context& context) {
    if (const Number share = run.broker_use.cores(run.window_ns);
        share && *share >= kBrokerBusyShare)
        return fmt::format("the broker used {} of a core", percent(*share));
    const Count confirmed = run.confirmed_in_window();
    if (!confirmed || !run.window_ns || run.payload_bytes.empty())
        return std::nullopt;
    const auto ceiling = context.ceiling_for(run.qos, run.protocol, run.payload_bytes.front());
    const double rate = static_cast<double>(*confirmed) / run.window_seconds();
    if (ceiling && rate >= kCeilingShare * *ceiling)
        return fmt::format("{} of the broker's measured ceiling", percent(rate / *ceiling));
    return std::nullopt;
}

Raised raise_offer_bound(const RunView& run, const Context&) {
    if (!run.peer.send || !run.peer.send->sent_window || !run.worker.receive ||
        !run.worker.receive->window)
        return std::nullopt;
    const std::uint64_t offered = *run.peer.send->sent_window;
    const std::uint64_t taken = *run.worker.receive->window;
    if (offered == 0 || !is_held(taken, offered, run.window_seconds()))
        return std::nullopt;
    return fmt::format("{} of {} offered messages were taken", format_count(taken),
                       format_count(offered));
}

Raised raise_dropped(const RunView& run, const Context&) {
    const Count dropped = dropped_by_broker(run);
    if (!dropped || *dropped == 0)
        return std::nullopt;
    return fmt::format("the broker dropped {} messages", format_count(*dropped));
}

Raised raise_lost_in_client(const RunView& run, const Context&) {
    for (const Leg& leg : legs_of(run)) {
        const Count dropped = dropped_by_broker(run);
        if (!leg.is_to_client || !leg.has_ledger || !dropped || !more(leg.holes, *dropped))
            continue;
        return fmt::format("{} messages with a later one arrived never came, the broker dropped {}",
                           format_count(leg.holes), format_count(*dropped));
    }
    return std::nullopt;
}

Raised raise_publishes_failed(const RunView& run, const Context&) {
    if (!run.worker.send || run.worker.send->failed.value_or(0) == 0)
        return std::nullopt;
    return fmt::format("{} of {} publishes failed", format_count(*run.worker.send->failed),
                       format_count(run.worker.send->sent.value_or(0)));
}

Raised raise_host_noisy(const RunView& run, const Context&) {
    const Number busy = run.host.number("other_busy_cores");
    if (run.is_comparable || !busy || *busy <= kQuietCores)
        return std::nullopt;
    return busy_others(run);
}

Raised raise_non_comparable(const RunView& run, const Context&) {
    if (run.is_comparable)
        return std::nullopt;
    return run.not_comparable_because.empty()
               ? std::string("the run is not marked as comparable")
               : fmt::format("{}", fmt::join(run.not_comparable_because, "; "));
}

Raised raise_witness_missing(const RunView& run, const Context&) {
    std::vector<std::string> reasons;
    for (const Witnessed& witnessed : {publishes_at_broker(run), deliveries_by_broker(run)})
        if (!witnessed.is_direct && std::ranges::find(reasons, witnessed.why_not) == reasons.end())
            reasons.push_back(witnessed.why_not);
    if (reasons.empty())
        return std::nullopt;
    return fmt::format("{}", fmt::join(reasons, "; "));
}

// Adds up a count over both receivers; "3 at the peer, 1 at the client".
Raised at_receivers(const RunView& run, Count ReceiveView::*count, std::string_view what) {
    std::vector<std::string> parts;
    for (const PartyView* party : {&run.peer, &run.worker})
        if (party->receive)
            if (const std::uint64_t n = (*party->receive.*count).value_or(0); n > 0)
                parts.push_back(fmt::format("{} at the {}", format_count(n),
                                            party == &run.peer ? "peer" : "client"));
    if (parts.empty())
        return std::nullopt;
    return fmt::format("{}: {}", what, fmt::join(parts, ", "));
}

Raised raise_strays(const RunView& run, const Context&) {
    if (run.worker.unexpected > 0)
        return fmt::format("{} messages reached a client that had subscribed to nothing",
                           format_count(run.worker.unexpected));
    return at_receivers(run, &ReceiveView::stray, "messages of another run or retained ones");
}

Raised raise_impossible_latency(const RunView& run, const Context&) {
    return at_receivers(run, &ReceiveView::impossible_latency, "stamps from the future");
}

Raised raise_redelivered(const RunView& run, const Context&) {
    return at_receivers(run, &ReceiveView::dup_flagged, "packets with the DUP flag");
}

Raised raise_reordered(const RunView& run, const Context&) {
    return at_receivers(run, &ReceiveView::reordered, "messages after a later one");
}

// Nagle's algorithm holds a small packet back until the one before it is acknowledged, and the other
// side may delay that by 40 ms.
Raised raise_nagle_on(const RunView& run, const Context&) {
    std::vector<std::string_view> parties;
    if (run.raw["client"].boolean("tcp_nodelay") == false)
        parties.push_back("the client");
    if (run.raw["broker"].boolean("tcp_nodelay") == false)
        parties.push_back("the broker");
    if (parties.empty())
        return std::nullopt;
    return fmt::format("TCP_NODELAY is off at {}", fmt::join(parties, " and "));
}

Raised raise_teardown_failed(const RunView& run, const Context&) {
    const Node teardown = run.raw["client"]["teardown"];
    if (!teardown)
        return std::nullopt;
    return teardown.text("reason");
}

Raised raise_nonconforming(const RunView& run, const Context& context) {
    const Breaches* breaches = context.breaches_of(run.client);
    if (!breaches)
        return std::nullopt;
    return fmt::format("its check failed: {}", fmt::join(breaches->checks, ", "));
}

// The best round is taken: what another process took away in the others is not mqcore's cost.
Raised raise_floor_matters(const RunView& run, const Context& context) {
    const Floor* floor = context.floor_of(run.client);
    const Count cpu_ns = run.client_use.cpu_ns();
    const Count messages = run.confirmed_in_window();
    if (!floor || !cpu_ns || !messages || *cpu_ns == 0 || *messages == 0)
        return std::nullopt;
    const double own = floor_of_message(*floor, run.kind);
    const double all = static_cast<double>(*cpu_ns) / static_cast<double>(*messages);
    if (own <= kFloorShare * all)
        return std::nullopt;
    return fmt::format("mqcore's own cost is {:.0f} ns of {:.0f} ns a message ({})", own, all,
                       percent(own / all));
}

Raised raise_few_samples(const RunView& run, const Context&) {
    if (!run.result_receiver())
        return std::nullopt;
    const auto transit = run.result_receiver()->raw.histogram("transit");
    if (!transit || transit->count() >= 100 * kSamplesBehind)
        return std::nullopt;
    return fmt::format("p99 rests on {} samples", format_count(transit->count()));
}

std::vector<FlagEntry> make_flags() {
    return {
        {"broker_bound",
         "The broker was near its limit",
         "The rate is partly the broker's own: a faster client could not have shown it here.",
         fmt::format(
             "The broker used at least {:.0f} % of one core in the window, or the rate is at "
             "least {:.0f} % of what the broker carried between two peers before the first "
             "run.",
             100 * kBrokerBusyShare, 100 * kCeilingShare),
         {kMessages, kCapacity, kAnyQos, 0, true},
         raise_broker_bound},
        {"offer_bound",
         "The client took the whole offer",
         "The client received everything that the source sent; what it can do is at least this "
         "rate.",
         fmt::format("The client took at least {:.0f} % of what the source sent in the window.",
                     100 * kHeldShare),
         {kSub, kCapacity, kAnyQos, 0, true},
         raise_offer_bound},
        {"broker_queue_overflow",
         "The broker's queue overflowed",
         "The broker dropped QoS 1 or 2 messages that their receiver did not fetch in time.",
         "The broker's count of dropped messages grew during the run.",
         {kMessages, kLoaded, kQos12, 0, true},
         raise_dropped},
        {"qos0_dropped",
         "The broker dropped QoS 0 messages",
         "The broker dropped QoS 0 messages because their receiver did not read in time, as QoS 0 "
         "permits.",
         "The broker's count of dropped messages grew during the run.",
         {kMessages, kLoaded, kQos0, 0, true},
         raise_dropped},
        {"lost_in_client",
         "QoS 0 messages were lost inside the client",
         "Messages are missing before later ones that the client did report, and the broker "
         "dropped "
         "fewer: the library took them from the wire and did not hand them on.",
         "Gaps in the client's ledger exceed the broker's count of dropped messages.",
         {kClientReceives, kLoaded, kQos0},
         raise_lost_in_client},
        {"publishes_failed",
         "Publishes failed",
         "The client reported some of its publishes as failed. They are in no rate.",
         "The driver completed messages with another status than success.",
         {kClientSends, kLoaded, kAnyQos},
         raise_publishes_failed},
        {"host_noisy",
         "The rest of the machine was busy",
         "Other processes took time on this machine; tolerated, since the run is not comparable "
         "anyway.",
         fmt::format("More than {:.1f} cores were busy outside the parties of a run that is not "
                     "comparable.",
                     kQuietCores),
         {kAnyKind, kAnyLoad, kAnyQos},
         raise_host_noisy},
        {"non_comparable",
         "Not to be compared or published",
         "The profile or the machine does not give what a comparison needs, or a profiler was "
         "attached. The reason is named.",
         "The run is not marked as comparable.",
         {kAnyKind, kAnyLoad, kAnyQos},
         raise_non_comparable},
        {"witness_missing",
         "The broker could not witness a count",
         "A count was checked by the other party, or by the broker's count of all packets, because "
         "this broker does not count it.",
         "The broker lacks the counter for publishes or for deliveries at this QoS, as tried out "
         "with "
         "known messages when the session started.",
         {kMessages, kLoaded, kAnyQos, 0, true},
         raise_witness_missing},
        {"strays",
         "Foreign messages arrived",
         "Messages of another run, or retained leftovers, reached a receiver. They are counted "
         "apart "
         "and are in no rate and no latency.",
         "A payload with another run's tag, a packet with the RETAIN flag, or an arrival that "
         "nobody "
         "subscribed to.",
         {kAnyKind, kAnyLoad, kAnyQos},
         raise_strays},
        {"impossible_latency",
         "Latencies below zero",
         "Some arrivals were earlier than the stamp they carry. They are counted here and are in "
         "no "
         "percentile.",
         "A receiver read a stamp or a due time later than its own clock.",
         {kMessages, kLoaded, kAnyQos},
         raise_impossible_latency},
        {"redelivered",
         "Messages were sent again",
         "The peer saw publishes with the DUP flag: their sender had sent them before.",
         "The peer's count of packets with the DUP flag is above 0.",
         {kMessages, kLoaded, kQos12},
         raise_redelivered},
        {"reordered",
         "Messages arrived out of order",
         "Some messages came after a later one of the same sender.",
         "A ledger saw a new sequence number below one that had arrived before.",
         {kMessages, kLoaded, kAnyQos},
         raise_reordered},
        {"nagle_on",
         "Small packets may be held back",
         "Nagle's algorithm is on at a socket of this run. Together with delayed acknowledgements "
         "it "
         "holds small packets back for tens of milliseconds, which then is most of a round trip.",
         "TCP_NODELAY, read from the socket itself, is off at the client's or the broker's end.",
         {kMessages, kLoaded, kAnyQos},
         raise_nagle_on},
        {"teardown_failed",
         "The client did not leave cleanly",
         "The run itself is complete, but afterwards the client's process did not disconnect or "
         "exit "
         "as it should.",
         "The process failed, or did not end in time, after it had handed over its counters.",
         {kAnyKind, kAnyLoad, kAnyQos},
         raise_teardown_failed},
        {"nonconforming",
         "The driver breaks its contract",
         "What the driver breaks can make its numbers mean something else than those of others; "
         "`mqcore check-driver` says what it is.",
         "The last `mqcore check-driver` of this very driver, host and release, made by this "
         "version of mqcore on this machine before the campaign, found a breach. Not raised where "
         "the driver was never checked, which the manifest tells.",
         {kAnyKind, kAnyLoad, kAnyQos},
         raise_nonconforming},
        {"floor_matters",
         "mqcore's own cost matters",
         "The client costs so little that a noticeable part of its processor time is mqcore's: "
         "pulling, stamping and counting. Clients of one language and shape carry the same part; "
         "a comparison with another language or shape should take it off.",
         fmt::format("The floor of the client's language and shape (the best round of a client "
                     "that does nothing, before the first run) is more than {:.0f} % of its "
                     "processor time a message. Not raised where the floor was not measured.",
                     100 * kFloorShare),
         {kMessages, kLoaded, kAnyQos},
         raise_floor_matters},
        {"few_samples",
         "Few latency samples",
         "So few latencies were recorded that the high percentiles rest on single messages.",
         fmt::format("Fewer than {} transit latencies in the window: fewer than {} above the 99th "
                     "percentile.",
                     100 * kSamplesBehind, kSamplesBehind),
         {kMessages, kLoaded, kAnyQos},
         raise_few_samples},
    };
}

} // namespace

const std::vector<FlagEntry>& flags() {
    static const std::vector<FlagEntry> kEntries = make_flags();
    return kEntries;
}

} // namespace mqcore::verdict
