// The broker confirms what the parties say.

#include "support/text.hpp"
#include "verdict/accounts.hpp"
#include "verdict/checks.hpp"
#include "verdict/scopes.hpp"

#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using scenario::Kind;
using support::format_count;
using namespace scopes;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// What the parties say, as words and as bounds for the broker's count.
struct Range {
    std::string says; // "the client completed and sent"
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

std::string words_of(const Range& range) {
    if (range.high == kNoLimit)
        return fmt::format("{} {}, and may be behind", range.says, format_count(range.low));
    if (range.low == range.high)
        return fmt::format("{} {}", range.says, format_count(range.high));
    return fmt::format("{} {} to {}", range.says, format_count(range.low),
                       format_count(range.high));
}

// Whom a count outside the range blames.
struct Blame {
    Finding (*too_few)(const RunView& run, std::string detail);
    Finding (*too_many)(const RunView& run, std::string detail);
};

Finding confirm(const RunView& run, const Witnessed& broker, const Range& range, const Blame& who) {
    if (!broker.value)
        return unavailable(
            fmt::format("{}; the parties' own counts stand: {}", broker.why_not, words_of(range)));
    const std::string detail =
        broker.is_direct
            ? fmt::format("the broker counted {}; {}", format_count(*broker.value), words_of(range))
            : fmt::format("{}; its packets make {}; {}", broker.why_not,
                          format_count(*broker.value), words_of(range));
    if (more(range.low, *broker.value))
        return who.too_few(run, detail);
    if (more(*broker.value, range.high))
        return who.too_many(run, detail);
    return broker.is_direct ? pass(detail) : unavailable(detail);
}

Finding blame_broker(const RunView&, std::string detail) {
    return blame(Party::broker, std::move(detail));
}
Finding blame_harness(const RunView&, std::string detail) {
    return blame(Party::harness, std::move(detail) + "; somebody else used the broker");
}
Finding blame_driver(const RunView&, std::string detail) {
    return blame(Party::driver, std::move(detail) + "; completed before the broker had them");
}

Finding find_client_publishes(const RunView& run, const Context&) {
    if (!run.worker.send || !run.worker.send->sent || !run.worker.send->completed)
        return unavailable("the client did not report what it sent");
    const SendView& send = *run.worker.send;
    if (has_hollow_completions(run))
        return confirm(run, client_publishes_at_broker(run),
                       {"the client sent, by completions that mean 'handed over',", 0, *send.sent},
                       {blame_driver, blame_harness});
    return confirm(run, client_publishes_at_broker(run),
                   {"the client completed and sent", *send.completed, *send.sent},
                   {blame_driver, blame_harness});
}

Finding find_peer_publishes(const RunView& run, const Context&) {
    if (!run.peer.send || !run.peer.send->sent)
        return unavailable("the peer did not report what it sent");
    const SendView& send = *run.peer.send;
    const std::uint64_t low = run.qos == 0 ? *send.sent : send.completed.value_or(*send.sent);
    return confirm(run, publishes_at_broker(run), {"the source sent", low, *send.sent},
                   {blame_broker, blame_harness});
}

// Messages that the broker wrote and nobody counted. The broker counts a message when it writes it, so
// at the client they show one that is behind; a peer reads to the end, unless a client that publishes
// from a queue of its own is still at it when the run ends.
Finding blame_for_unread(const RunView& run, std::string detail) {
    const bool is_both_ways = run.kind == Kind::rtt || run.kind == Kind::duplex;
    const bool peer_has_all = is_both_ways && run.peer.receive && run.worker.send &&
                              run.peer.receive->arrived() == run.worker.send->sent;
    if (run.kind == Kind::sub || peer_has_all)
        return blame(Party::client, detail + "; the client did not take the rest");
    if (has_hollow_completions(run))
        return blame(Party::client, detail + "; the client was still publishing at the end");
    return blame(Party::peer, detail + "; the rest did not reach the peer");
}

Finding find_deliveries(const RunView& run, const Context&) {
    std::uint64_t counted = run.worker.unexpected;
    for (const PartyView* party : {&run.worker, &run.peer})
        if (party->receive) {
            if (!party->receive->deliveries())
                return unavailable("a receiver did not report");
            counted += *party->receive->deliveries();
        } else if (!party->has_report) {
            return unavailable("a receiver did not report");
        }
    return confirm(run, deliveries_by_broker(run),
                   {"the receivers counted", counted, may_be_behind(run) ? kNoLimit : counted},
                   {blame_broker, blame_for_unread});
}

} // namespace

std::vector<CheckEntry> checks_of_counts() {
    const std::string slack =
        fmt::format("{} messages and {:.2f} % of the count", kSlack, 100 * kSlackShare);
    return {
        {"broker_confirms_client_publishes",
         "The broker received what the client says it sent",
         "The broker's own count of the client's publishes is not below what the client calls "
         "completed and not above what it sent. On round trips the echo's answers are taken out.",
         fmt::format("completed ≤ broker's count ≤ sent, with {} of slack. A broker that does not "
                     "count this QoS is checked by its count of all packets, and the outcome is "
                     "unavailable. Completions that mean 'handed over' set no lower bound.",
                     slack),
         {kClientSends, kLoaded, kAnyQos, 0, true},
         find_client_publishes},
        {"broker_confirms_peer_publishes",
         "The broker received what the source says it sent",
         "The broker's own count of publishes is what the peer's source wrote.",
         fmt::format("Equal within {}.", slack),
         {kSub, kLoaded, kAnyQos, 0, true},
         find_peer_publishes},
        {"broker_confirms_deliveries",
         "The receivers counted what the broker sent",
         "The broker's own count of deliveries is what the receiving parties counted, strays "
         "included.",
         fmt::format(
             "Equal within {}. At receive capacity only more arrivals than deliveries fail: "
             "a client that is behind has messages in its socket when the run stops. At a "
             "fixed rate such a rest is the client's.",
             slack),
         {kMessages, kLoaded, kAnyQos, 0, true},
         find_deliveries},
    };
}

} // namespace mqcore::verdict
