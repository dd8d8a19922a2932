#include "verdict/accounts.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

// Packets of one message, by QoS.
constexpr std::uint64_t kFromSender[] = {1, 1, 2};   // PUBLISH, PUBREL
constexpr std::uint64_t kFromReceiver[] = {0, 1, 2}; // PUBACK; PUBREC, PUBCOMP

// Zero for a party that has no such half, nothing for one that did not report.
template <class View>
Count part(const PartyView& party, const std::optional<View>& half, Count (*value)(const View&)) {
    if (half)
        return value(*half);
    return party.has_report || !party.raw ? Count(0) : std::nullopt;
}

Count sum(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }

Count sent_by(const PartyView& party) {
    return part<SendView>(party, party.send, [](const SendView& send) { return send.sent; });
}

Count completed_by(const PartyView& party) {
    return part<SendView>(party, party.send, [](const SendView& send) { return send.completed; });
}

Count deliveries_to(const PartyView& party) {
    const Count known = part<ReceiveView>(
        party, party.receive, [](const ReceiveView& receive) { return receive.deliveries(); });
    return known ? Count(*known + party.unexpected) : std::nullopt;
}

// (packets - known others) / packets of one message
Count from_packets(Count packets, Count others, std::uint64_t a_message) {
    if (!packets || !others)
        return std::nullopt;
    return *packets > *others ? (*packets - *others) / a_message : 0;
}

Witnessed direct_or_counted(const RunView& run, std::string_view direct, std::string_view packets,
                            Count others, std::uint64_t a_message) {
    if (const CounterView counter = run.counter(direct); counter.delta)
        return {.value = counter.delta, .is_direct = true, .why_not = {}};
    else
        return {.value = from_packets(run.counter(packets).delta, others, a_message),
                .is_direct = false,
                .why_not = counter.why_unavailable};
}

Count control_packets(const RunView& run) {
    return run.raw["broker"].count("control_packets").value_or(0);
}

Leg leg_between(const SendView& sender, const ReceiveView& receiver, bool is_to_client) {
    Leg leg{.is_to_client = is_to_client, .sender = &sender, .receiver = &receiver};
    leg.sent = sender.sent.value_or(0);
    leg.excused = sender.failed.value_or(0) + sender.unfinished.value_or(0);
    leg.has_ledger = receiver.frontier && receiver.distinct && receiver.lost_below_frontier;
    if (leg.has_ledger) {
        leg.holes = *receiver.lost_below_frontier;
        leg.tail = leg.sent - std::min(leg.sent, *receiver.frontier);
    } else {
        leg.tail = leg.sent - std::min(leg.sent, receiver.total.value_or(0));
    }
    return leg;
}

} // namespace

Witnessed publishes_at_broker(const RunView& run) {
    if (run.is_direct) // the server's own count is the peer's
        return {.value = sum(deliveries_to(run.peer), sent_by(run.peer)),
                .is_direct = true,
                .why_not = {}};
    const Count answers = sum(deliveries_to(run.worker), deliveries_to(run.peer));
    const Count others =
        sum(control_packets(run), answers ? Count(kFromReceiver[run.qos] * *answers) : answers);
    return direct_or_counted(run, "publish_received", "messages_received", others,
                             kFromSender[run.qos]);
}

Witnessed client_publishes_at_broker(const RunView& run) {
    Witnessed all = publishes_at_broker(run);
    if (const Count peer = sent_by(run.peer); all.value && peer)
        all.value = *all.value - std::min(*all.value, *peer);
    else
        all.value = std::nullopt;
    return all;
}

Witnessed deliveries_by_broker(const RunView& run) {
    if (run.is_direct)
        return {.value = sum(sent_by(run.peer), deliveries_to(run.peer)),
                .is_direct = true,
                .why_not = {}};
    const Count acknowledged = sum(completed_by(run.worker), completed_by(run.peer));
    const Count others =
        sum(control_packets(run),
            acknowledged ? Count(kFromReceiver[run.qos] * *acknowledged) : acknowledged);
    return direct_or_counted(run, "publish_sent", "messages_sent", others, kFromSender[run.qos]);
}

std::vector<Leg> legs_of(const RunView& run) {
    std::vector<Leg> legs;
    if (run.worker.send && run.peer.receive)
        legs.push_back(leg_between(*run.worker.send, *run.peer.receive, false));
    if (run.peer.send && run.worker.receive) {
        Leg leg = leg_between(*run.peer.send, *run.worker.receive, true);
        if (run.kind == scenario::Kind::rtt && !legs.empty() && leg.has_ledger &&
            legs.front().has_ledger) {
            // An echo forwards the numbers that reached it: what it never saw is no loss of this leg.
            leg.holes -= std::min(leg.holes, legs.front().holes);
            const std::uint64_t end = *legs.front().receiver->frontier;
            leg.tail = end - std::min(end, *leg.receiver->frontier);
        }
        legs.push_back(leg);
    }
    return legs;
}

Count dropped_by_broker(const RunView& run) {
    return run.is_direct ? Count(0) : run.counter("publish_dropped").delta;
}

bool has_hollow_completions(const RunView& run) {
    return run.qos == 0 && run.qos0_completion == "handed over";
}

bool may_be_behind(const RunView& run) {
    return run.load == Load::capacity && (run.kind == scenario::Kind::sub ||
                                          (run.is_sent_by_client() && has_hollow_completions(run)));
}

double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole) : 1;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string busy_others(const RunView& run) {
    std::string text = fmt::format("{:.2f} cores were busy outside the parties",
                                   run.host.number("other_busy_cores").value_or(0));
    std::vector<std::string> parts;
    if (const Node top = run.host["top"]; top && top.json()->is_array())
        for (const support::Json& item : top.json()->get_array())
            if (const Number cores = Node(&item).number("cores"); cores && *cores >= 0.005)
                parts.push_back(fmt::format("{} {:.2f}", Node(&item).text("name"), *cores));
    if (const Number kernel = run.host.number("kernel_busy_cores"); kernel && *kernel >= 0.005)
        parts.push_back(fmt::format("kernel time without a process {:.2f}", *kernel));
    return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
}

std::string named(const std::vector<std::uint64_t>& first, std::uint64_t total) {
    if (first.empty())
        return {};
    return fmt::format("{}{}", fmt::join(first, ", "), total > first.size() ? ", …" : "");
}

} // namespace mqcore::verdict
