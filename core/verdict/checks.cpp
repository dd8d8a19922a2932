#include "support/text.hpp"
#include "verdict/accounts.hpp"
#include "verdict/context.hpp"
#include "verdict/scopes.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using scenario::Kind;
using support::format_count;
using namespace scopes;

// Findings. A fault of the client is a finding about it, a fault of anybody else spoils the run.

Finding pass(std::string detail) { return {Outcome::pass, std::move(detail), {}, Status::valid}; }
Finding unavailable(std::string detail) {
    return {Outcome::unavailable, std::move(detail), {}, Status::valid};
}
Finding not_applicable(std::string detail) {
    return {Outcome::not_applicable, std::move(detail), {}, Status::valid};
}
Finding blame(Party party, std::string detail) {
    return {Outcome::fail, std::move(detail), party,
            party == Party::client ? Status::not_sustained : Status::invalid};
}

std::string of_offer(std::uint64_t done, std::uint64_t asked) {
    return fmt::format("{} of {} ({})", format_count(done), format_count(asked),
                       percent(share_of(done, asked)));
}

// ------------------------------------------------------------------------------------------------
// The parties carried the run out.

Party party_of(std::string_view name) {
    for (const Party party :
         {Party::client, Party::driver, Party::peer, Party::broker, Party::host})
        if (name_of(party) == name)
            return party;
    return Party::harness; // whoever else ended it, Ctrl-C included
}

bool has_failed(const RunView& run, Party party) {
    return run.failure && party_of(run.failure.text("party")) == party;
}

std::string words_of_failure(const RunView& run) {
    const std::string phase = run.failure.text("phase");
    const std::string status = run.failure.text("status");
    const std::string reason = run.failure.text("reason");
    return fmt::format("{}{}{}{}{}", phase, phase.empty() ? "" : ": ", reason,
                       status.empty() ? "" : " [", status.empty() ? "" : status + "]");
}

// While the schedule ran, as opposed to starting up, connecting or leaving: the worker's own word for
// it, or the session's.
bool is_under_load(std::string_view phase) {
    constexpr std::string_view kPhases[] = {"driving", "warmup", "window", "drain"};
    return std::ranges::find(kPhases, phase) != std::end(kPhases);
}

Finding find_worker_completed(const RunView& run, const Context&) {
    if (has_failed(run, Party::client) || has_failed(run, Party::driver)) {
        Finding finding = blame(party_of(run.failure.text("party")), words_of_failure(run));
        const bool has_lost_connection =
            run.failure.text("status") == "network" && is_under_load(run.failure.text("phase"));
        // A client that the load starved or threw out has shown its limit. One that crashed, hung or
        // never connected has shown no speed at all.
        if (!has_lost_connection)
            finding.status = Status::invalid;
        return finding;
    }
    if (run.worker.has_report)
        return pass("connected, followed the schedule and reported");
    return run.failure ? unavailable("the run ended before the client could report")
                       : blame(Party::harness, "the run has no report of the client");
}

Finding find_peer_completed(const RunView& run, const Context&) {
    if (has_failed(run, Party::peer))
        return blame(Party::peer, words_of_failure(run));
    if (run.peer.has_report)
        return pass("connected, followed the schedule and reported");
    return run.failure ? unavailable("the run ended before the peer could report")
                       : blame(Party::harness, "the run has no report of the peer");
}

Finding find_broker_completed(const RunView& run, const Context&) {
    if (has_failed(run, Party::broker))
        return blame(Party::broker, words_of_failure(run));
    return run.failure ? unavailable("the run ended early for another reason")
                       : pass("served the whole run");
}

Finding find_harness_completed(const RunView& run, const Context&) {
    for (const Party party : {Party::host, Party::harness})
        if (has_failed(run, party))
            return blame(party, words_of_failure(run));
    if (run.failure)
        return unavailable("the run ended early for another reason");
    return run.window_ns ? pass("carried the run out")
                         : blame(Party::harness, "the run has no schedule");
}

Finding find_broker_counters_read(const RunView& run, const Context&) {
    if (!run.raw["broker"])
        return unavailable("the broker was not read");
    if (run.broker_is_fresh)
        return pass("read after the run from a tick newer than its end");
    if (run.failure)
        return unavailable("the run ended early");
    // A broker without counters is no fault of the run; one that had them at the session's start is
    // expected to have them now.
    if (!run.has_witness())
        return unavailable(run.counter("publish_received").why_unavailable);
    const std::string why = run.raw["broker"]["unavailable"].text("publish_received");
    return blame(Party::harness,
                 why.empty() ? "the counters are older than the end of the run" : why);
}

// ------------------------------------------------------------------------------------------------
// The broker confirms what the parties say.

struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::string of; // "the client's completions and sends"
};

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

std::string words_of(const Range& range) {
    if (range.high == kNoLimit)
        return fmt::format("at least {} of {}", format_count(range.low), range.of);
    return range.low == range.high ? fmt::format("{} of {}", format_count(range.high), range.of)
                                   : fmt::format("{} to {} of {}", format_count(range.low),
                                                 format_count(range.high), range.of);
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
            ? fmt::format("broker {}, {}", format_count(*broker.value), words_of(range))
            : fmt::format("{}; its packets make {}, {}", broker.why_not,
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

// QoS 0 completions of a library that only took the message over confirm nothing.
bool has_hollow_completions(const RunView& run) {
    return run.qos == 0 && run.qos0_completion == "handed over";
}

Finding find_client_publishes(const RunView& run, const Context&) {
    if (!run.worker.send || !run.worker.send->sent || !run.worker.send->completed)
        return unavailable("the client did not report what it sent");
    const SendView& send = *run.worker.send;
    if (has_hollow_completions(run))
        return confirm(run, client_publishes_at_broker(run),
                       {0, *send.sent, "the client's sends (its completions mean 'handed over')"},
                       {blame_driver, blame_harness});
    return confirm(run, client_publishes_at_broker(run),
                   {*send.completed, *send.sent, "the client's completions and sends"},
                   {blame_driver, blame_harness});
}

Finding find_peer_publishes(const RunView& run, const Context&) {
    if (!run.peer.send || !run.peer.send->sent)
        return unavailable("the peer did not report what it sent");
    const SendView& send = *run.peer.send;
    const std::uint64_t low = run.qos == 0 ? *send.sent : send.completed.value_or(*send.sent);
    return confirm(run, publishes_at_broker(run), {low, *send.sent, "the source's messages"},
                   {blame_broker, blame_harness});
}

// Messages that the broker wrote and nobody counted. The broker counts a message when it writes it, so
// at the client they show one that is behind; a peer reads to the end, unless a client that publishes
// from a queue of its own is still at it when the run ends.
Finding blame_for_unread(const RunView& run, std::string detail) {
    const bool peer_has_all = run.kind == Kind::rtt && run.peer.receive && run.worker.send &&
                              run.peer.receive->arrived() == run.worker.send->sent;
    if (run.kind == Kind::sub || peer_has_all)
        return blame(Party::client, detail + "; the client did not take the rest");
    if (has_hollow_completions(run))
        return blame(Party::client, detail + "; the client was still publishing at the end");
    return blame(Party::peer, detail + "; the rest did not reach the peer");
}

// At capacity a receiving client may have messages in its socket when the run stops, and a publishing
// one in a queue of its own.
bool may_be_behind(const RunView& run) {
    return run.load == Load::capacity &&
           (run.kind == Kind::sub || (run.is_sent_by_client() && has_hollow_completions(run)));
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
                   {counted, may_be_behind(run) ? kNoLimit : counted, "what the receivers counted"},
                   {blame_broker, blame_for_unread});
}

// ------------------------------------------------------------------------------------------------
// What became of the messages.

template <class Judge>
Finding worst_of_legs(const RunView& run, Judge judge) {
    const std::vector<Leg> legs = legs_of(run);
    if (legs.empty() || (run.kind == Kind::rtt && legs.size() < 2))
        return unavailable("a party did not report");
    std::optional<Finding> worst;
    for (const Leg& leg : legs) {
        Finding finding = judge(leg);
        if (!worst || finding.status > worst->status ||
            (worst->outcome == Outcome::pass && finding.outcome != Outcome::pass))
            worst = std::move(finding);
    }
    return *worst;
}

std::string_view words_of(const Leg& leg) {
    return leg.is_to_client ? "peer to client" : "client to peer";
}

std::string named_losses(const Leg& leg) {
    std::string numbers = named(leg.receiver->first_lost, leg.holes);
    if (leg.tail && leg.has_ledger)
        numbers += fmt::format("{}the last {} from {} on", numbers.empty() ? "" : " and ",
                               format_count(leg.tail), *leg.receiver->frontier);
    return numbers.empty() ? numbers : fmt::format(" (sequence numbers {})", numbers);
}

Finding blame_on_way_to_peer(const RunView& run, const Leg& leg, const std::string& lost) {
    const Witnessed broker = client_publishes_at_broker(run);
    if (dropped_by_broker(run).value_or(0) > 0)
        return blame(Party::peer, lost + "; the broker's queue for the peer overflowed");
    if (broker.is_direct && *broker.value < leg.sent - std::min(leg.sent, leg.excused))
        return blame(Party::driver,
                     fmt::format("{}; the broker received {} of {}", lost,
                                 format_count(*broker.value), format_count(leg.sent)));
    if (leg.holes == 0)
        return blame(Party::peer, lost + "; the peer had not read them by the end");
    return blame(Party::broker, lost + "; they were lost between the broker and the peer");
}

Finding blame_on_way_to_client(const RunView& run, const Leg& leg, const std::string& lost) {
    if (const std::uint64_t dropped = dropped_by_broker(run).value_or(0))
        return blame(Party::client,
                     fmt::format("{}; it fell behind until the broker's queue dropped {}", lost,
                                 format_count(dropped)));
    if (leg.holes == 0)
        return blame(Party::client, lost + "; it had not taken them by the end of the drain");
    const Witnessed broker = deliveries_by_broker(run);
    const std::uint64_t to_peer = run.peer.receive ? run.peer.receive->deliveries().value_or(0) : 0;
    const std::uint64_t needed = leg.has_ledger ? *leg.receiver->frontier : leg.sent;
    if (!broker.value)
        return blame(Party::broker, fmt::format("{}; {}, so whether the broker or the client lost "
                                                "them is not known",
                                                lost, broker.why_not));
    if (*broker.value - std::min(*broker.value, to_peer) >= needed)
        return blame(Party::client,
                     lost + "; the broker sent them, they were lost inside the client");
    return blame(Party::broker, lost + "; the broker neither sent nor dropped them");
}

std::string words_of_good_leg(const RunView& run, const Leg& leg) {
    const std::string text =
        fmt::format("{}: {} sent, {} arrived", words_of(leg), format_count(leg.sent),
                    format_count(leg.receiver->arrived().value_or(0)));
    const std::uint64_t open = leg.holes + leg.tail;
    if (open == 0)
        return text;
    return fmt::format("{}, {} {}", text, format_count(open),
                       may_be_behind(run)
                           ? "dropped by the broker's queue or not yet taken at the stop"
                           : "not confirmed to the sender");
}

// All publishes that a sender calls done arrived, or it is known what became of them.
Finding judge_leg(const RunView& run, const Leg& leg, std::uint64_t tolerated) {
    std::uint64_t missing = leg.missing();
    if (may_be_behind(run)) {
        // The rest may still be queued, and what the client does not fetch in time the queue drops:
        // only a hole that no drop explains is a loss.
        const Count dropped = dropped_by_broker(run);
        const std::uint64_t holes = leg.holes - std::min(leg.holes, leg.excused);
        if (holes && !dropped)
            return unavailable(fmt::format("{}: {} missing{}; {}, so drops and losses cannot be "
                                           "told apart",
                                           words_of(leg), format_count(holes), named_losses(leg),
                                           run.counter("publish_dropped").why_unavailable));
        missing = holes - std::min(holes, dropped.value_or(0));
    }
    if (missing <= tolerated)
        return pass(words_of_good_leg(run, leg));
    const std::string lost =
        fmt::format("{}: {} of {} missing{}", words_of(leg), format_count(missing),
                    format_count(leg.sent), named_losses(leg));
    return leg.is_to_client ? blame_on_way_to_client(run, leg, lost)
                            : blame_on_way_to_peer(run, leg, lost);
}

Finding find_no_loss(const RunView& run, const Context&) {
    return worst_of_legs(run,
                         [&](const Leg& leg) { return judge_leg(run, leg, slack_of(leg.sent)); });
}

Finding find_exact_delivery(const RunView& run, const Context&) {
    return worst_of_legs(run, [&](const Leg& leg) -> Finding {
        const ReceiveView& receiver = *leg.receiver;
        if (!leg.has_ledger)
            return unavailable(fmt::format("{}: the payload is too short for a sequence number; "
                                           "{} sent, {} arrived",
                                           words_of(leg), format_count(leg.sent),
                                           format_count(receiver.total.value_or(0))));
        if (const std::uint64_t doubled = receiver.duplicates.value_or(0))
            return blame(Party::client, fmt::format("{}: {} arrived more than once (sequence "
                                                    "numbers {})",
                                                    words_of(leg), format_count(doubled),
                                                    named(receiver.first_duplicates, doubled)));
        if (!leg.is_to_client && *receiver.frontier > leg.sent)
            return blame(Party::client, fmt::format("{}: sequence number {} arrived, but only {} "
                                                    "messages were handed out",
                                                    words_of(leg), *receiver.frontier - 1,
                                                    format_count(leg.sent)));
        if (const std::uint64_t beyond = receiver.beyond.value_or(0))
            return unavailable(fmt::format("{}: {} messages are beyond the ledger's capacity",
                                           words_of(leg), format_count(beyond)));
        if (run.qos == 0) // may lose; loss_accounted says what became of them
            return pass(fmt::format("{}: none of {} arrived twice", words_of(leg),
                                    format_count(receiver.total.value_or(0))));
        return judge_leg(run, leg, 0);
    });
}

// QoS 0: sent = arrived + left in the client + dropped by the broker + unread at the stop.
Finding account_for(const RunView& run, const Leg& leg) {
    const std::uint64_t arrived = leg.receiver->total.value_or(0);
    const std::uint64_t missing = leg.sent - std::min(leg.sent, arrived);
    if (missing <= slack_of(leg.sent))
        return pass(fmt::format("{}: {} sent, {} arrived", words_of(leg), format_count(leg.sent),
                                format_count(arrived)));
    const Witnessed at_broker =
        leg.is_to_client ? publishes_at_broker(run) : client_publishes_at_broker(run);
    const Count dropped = dropped_by_broker(run);
    if (!at_broker.value || !dropped)
        return unavailable(fmt::format(
            "{}: {} of {} missing; {}", words_of(leg), format_count(missing),
            format_count(leg.sent),
            at_broker.value ? run.counter("publish_dropped").why_unavailable : at_broker.why_not));
    const std::uint64_t unsent =
        leg.is_to_client ? 0 : leg.sent - std::min(leg.sent, *at_broker.value);
    const std::uint64_t rest = missing - std::min(missing, unsent + *dropped);
    // What is on its way when the peer stops counting are the last messages; a lost one is a hole.
    const bool is_on_its_way = !leg.is_to_client && has_hollow_completions(run) && leg.has_ledger &&
                               leg.holes <= *dropped + slack_of(leg.sent);
    const std::string books = fmt::format(
        "{}: {} sent = {} arrived + {} left in the client + {} dropped by the broker + {} {}",
        words_of(leg), format_count(leg.sent), format_count(arrived), format_count(unsent),
        format_count(*dropped), format_count(rest),
        leg.is_to_client ? "unread at the stop or lost in the client"
        : is_on_its_way  ? "on their way at the end"
                         : "unaccounted for");
    const bool is_unread = leg.is_to_client && run.load == Load::capacity;
    if (rest <= slack_of(leg.sent) || is_on_its_way || is_unread)
        return pass(books);
    return blame(leg.is_to_client ? Party::client : Party::peer, books);
}

Finding find_loss_accounted(const RunView& run, const Context&) {
    return worst_of_legs(run, [&](const Leg& leg) { return account_for(run, leg); });
}

Finding find_payloads_intact(const RunView& run, const Context&) {
    std::uint64_t looked_at = 0;
    for (const PartyView* party : {&run.peer, &run.worker}) {
        if (!party->receive)
            continue;
        if (!party->receive->damaged || !party->receive->total)
            return unavailable("a receiver did not report");
        looked_at += *party->receive->total;
        if (const std::uint64_t damaged = *party->receive->damaged)
            return blame(
                Party::client,
                fmt::format("{} of {} messages at the {} had another length or content, "
                            "the first one {}",
                            format_count(damaged), format_count(*party->receive->total),
                            party == &run.peer ? "peer" : "client",
                            party->receive->first_damaged_bytes
                                ? fmt::format("with {} bytes", *party->receive->first_damaged_bytes)
                                : std::string("of unknown length")));
    }
    return looked_at || run.peer.receive || run.worker.receive
               ? pass(fmt::format("{} payloads compared", format_count(looked_at)))
               : unavailable("no party reported arrivals");
}

Finding find_completions_consistent(const RunView& run, const Context&) {
    if (!run.misuse.empty())
        return blame(Party::driver,
                     fmt::format("the driver broke its contract: {}{}", run.misuse.front(),
                                 run.misuse.size() > 1
                                     ? fmt::format(" (and {} more)", run.misuse.size() - 1)
                                     : std::string()));
    if (!run.worker.send)
        return run.is_sent_by_client() ? unavailable("the client did not report what it sent")
                                       : pass("the driver kept its contract");
    const SendView& send = *run.worker.send;
    if (!send.sent || !send.completed)
        return unavailable("the client did not report what it sent");
    const std::uint64_t finished = *send.completed + send.failed.value_or(0);
    if (finished > *send.sent)
        return blame(Party::driver, fmt::format("{} completions for {} messages",
                                                format_count(finished), format_count(*send.sent)));
    // What reached the other side was sent for certain, and after the drain its acknowledgement is in.
    const std::uint64_t unfinished = *send.sent - finished;
    const Count arrived = run.peer.receive ? run.peer.receive->arrived() : std::nullopt;
    const bool all_arrived = arrived && *arrived + slack_of(*send.sent) >= *send.sent;
    const bool is_silent = finished == 0 && *send.sent > 0 && arrived.value_or(0) > 0;
    if (is_silent || (all_arrived && unfinished > slack_of(*send.sent)))
        return blame(Party::driver, fmt::format("{} of {} messages were never completed, though {} "
                                                "of them arrived",
                                                format_count(unfinished), format_count(*send.sent),
                                                format_count(*arrived)));
    return pass(fmt::format("{} sent, {} completed, {} failed, {} unfinished",
                            format_count(*send.sent), format_count(*send.completed),
                            format_count(send.failed.value_or(0)), format_count(unfinished)));
}

// ------------------------------------------------------------------------------------------------
// The point was held.

Finding find_window_not_empty(const RunView& run, const Context&) {
    const Count confirmed = run.confirmed_in_window();
    if (!confirmed)
        return unavailable("the receiver did not report");
    if (*confirmed > 0)
        return pass(fmt::format("{} messages confirmed", format_count(*confirmed)));
    const bool source_was_silent =
        run.kind == Kind::sub && run.peer.send && run.peer.send->sent_window.value_or(0) == 0;
    return blame(source_was_silent ? Party::peer : Party::client,
                 source_was_silent ? "the source sent nothing in the window"
                                   : "no message was confirmed in the window");
}

Finding find_offered_rate_held(const RunView& run, const Context&) {
    const std::optional<SendView>& send = run.is_sent_by_client() ? run.worker.send : run.peer.send;
    if (!send || !send->sent_window || !send->due_in_window)
        return unavailable("the sender did not report");
    const std::uint64_t due = *send->due_in_window;
    if (due == 0)
        return blame(Party::harness,
                     "no message was due in the window: it is too short for this rate");
    if (!is_held(*send->sent_window, due))
        return blame(run.is_sent_by_client() ? Party::client : Party::peer,
                     of_offer(*send->sent_window, due) + " due messages were sent in the window");
    // What a publishing client sends, the sink must see at the same pace: a library may take messages
    // over faster than it writes them.
    if (run.kind == Kind::pub && run.peer.receive && run.peer.receive->window &&
        !is_held(*run.peer.receive->window, due))
        return blame(Party::client, of_offer(*run.peer.receive->window, due) +
                                        " due messages reached the sink in the window");
    return pass(of_offer(*send->sent_window, due));
}

Finding find_responses_kept_up(const RunView& run, const Context&) {
    if (!run.worker.send || !run.worker.send->sent_window || !run.worker.receive ||
        !run.worker.receive->window)
        return unavailable("the client did not report");
    const std::uint64_t asked = *run.worker.send->sent_window;
    const std::uint64_t answered = *run.worker.receive->window;
    if (is_held(answered, asked))
        return pass(of_offer(answered, asked));
    const bool echo_was_late = run.peer.receive && run.peer.send && run.peer.receive->window &&
                               run.peer.send->sent_window &&
                               is_held(*run.peer.receive->window, asked) &&
                               !is_held(*run.peer.send->sent_window, asked);
    return blame(echo_was_late ? Party::peer : Party::client,
                 of_offer(answered, asked) + " requests were answered in the window");
}

Finding find_client_kept_up(const RunView& run, const Context&) {
    if (!run.peer.send || !run.peer.send->sent_window || !run.worker.receive ||
        !run.worker.receive->window)
        return unavailable("a party did not report");
    const std::uint64_t offered = *run.peer.send->sent_window;
    const std::uint64_t taken = *run.worker.receive->window;
    return is_held(taken, offered) ? pass(of_offer(taken, offered))
                                   : blame(Party::client, of_offer(taken, offered) +
                                                              " messages were taken in the window");
}

// ------------------------------------------------------------------------------------------------
// Nobody else was the limit.

Finding find_broker_headroom(const RunView& run, const Context&) {
    const Number share = run.broker_use.cores(run.window_ns);
    if (!share)
        return unavailable(run.broker_use.why_unavailable("cpu_ns"));
    const std::string detail = fmt::format("the broker used {} of a core", percent(*share));
    return *share < kBrokerBusyShare ? pass(detail) : blame(Party::broker, detail);
}

Finding find_host_quiet(const RunView& run, const Context&) {
    if (!run.is_comparable)
        return not_applicable("enforced where runs are to be compared");
    const Number busy = run.host.number("other_busy_cores");
    if (!busy)
        return unavailable("what the rest of the host did could not be read");
    const std::string detail = busy_others(run);
    return *busy <= kQuietCores ? pass(detail) : blame(Party::host, detail);
}

std::vector<CheckEntry> make_checks() {
    const std::string slack = fmt::format("{} messages and {} of the count", kSlack,
                                          fmt::format("{:.2f} %", 100 * kSlackShare));
    const std::string held = fmt::format("{:.0f} %", 100 * kHeldShare);
    const std::string edge = fmt::format(
        " One message in 20, at most {}, may fall over the window's edge.", kEdgeMessages);
    return {
        {"worker_completed",
         "The client's process carried the run out",
         "The process that hosts the client connected, followed the schedule and handed over its "
         "counters.",
         "Fails when the client's process failed, ended or did not answer in time; the detail "
         "names "
         "the phase. A connection that was lost under load is the client's own limit "
         "(not_sustained); anything else is invalid, because no speed was seen.",
         {kAnyKind, kAnyLoad, kAnyQos},
         find_worker_completed},
        {"peer_completed",
         "The peer carried the run out",
         "The neutral party on the broker's other side connected, followed the schedule and handed "
         "over its counters.",
         "Fails when the peer failed, ended or did not answer in time.",
         {kMessages, kLoaded, kAnyQos},
         find_peer_completed},
        {"broker_completed",
         "The broker served the whole run",
         "The broker was there from the first connection to the last counter.",
         "Fails when the broker ended or refused its service during the run.",
         {kAnyKind, kAnyLoad, kAnyQos},
         find_broker_completed},
        {"harness_completed",
         "mqcore and the machine carried the run out",
         "Nothing around the parties failed: no missing file, no exhausted limit, no interruption.",
         "Fails when mqcore itself or the operating system ended the run.",
         {kAnyKind, kAnyLoad, kAnyQos},
         find_harness_completed},
        {"broker_counters_read",
         "The broker's counters are those of this run",
         "What the broker counted was read before the run and again after its end.",
         "Passes when the second reading is newer than the end of the run. Unavailable for a "
         "broker "
         "that publishes no counters; the parties' own counts stand then.",
         {kMessages, kLoaded, kAnyQos},
         find_broker_counters_read},
        {"broker_confirms_client_publishes",
         "The broker received what the client says it sent",
         "The broker's own count of the client's publishes is not below what the client calls "
         "completed and not above what it sent. On round trips the echo's answers are taken out.",
         fmt::format("completed ≤ broker's count ≤ sent, with {} of slack. A broker that does not "
                     "count this QoS is checked by its count of all packets, and the outcome is "
                     "unavailable. Completions that mean 'handed over' set no lower bound.",
                     slack),
         {kClientSends, kLoaded, kAnyQos},
         find_client_publishes},
        {"broker_confirms_peer_publishes",
         "The broker received what the source says it sent",
         "The broker's own count of publishes is what the peer's source wrote.",
         fmt::format("Equal within {}.", slack),
         {kSub, kLoaded, kAnyQos},
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
         {kMessages, kLoaded, kAnyQos},
         find_deliveries},
        {"no_loss",
         "Nothing that was acknowledged is missing, by the counts",
         "At QoS 1 and 2 every message that the broker acknowledged reached its subscriber.",
         fmt::format(
             "Messages that never arrived, less those that the sender calls failed or "
             "unfinished, are at most {}. A loss is the client's when it fell behind until "
             "the broker's queue overflowed, or when the broker sent the message to it; else "
             "it is the broker's or the peer's. At receive capacity a rest that is still "
             "queued, and drops of the broker's queue, are no loss.",
             slack),
         {kMessages, kLoaded, kQos12},
         find_no_loss},
        {"exact_delivery",
         "Every message arrived once, by sequence number",
         "Each message carries a number, and each receiver keeps a ledger of them, so that a loss "
         "and "
         "a double never cancel each other out. The first few numbers concerned are named.",
         "No number arrived twice at any QoS, and at QoS 1 and 2 none is missing; there is no "
         "slack. "
         "Who lost it is told as in no_loss. Unavailable where the payload is too short for a "
         "number "
         "(below 16 bytes).",
         {kMessages, kLoaded, kAnyQos},
         find_exact_delivery},
        {"loss_accounted",
         "It is known what became of QoS 0 messages",
         "QoS 0 may lose messages. Each one that did not arrive is looked for in the other books: "
         "left in the client, dropped by the broker, or still unread at the stop.",
         fmt::format(
             "sent = arrived + left in the client + dropped + unread, within {}. A rest on "
             "the way to the peer is the peer's; a rest on the way to the client fails at a "
             "fixed rate only, for at capacity a client may be behind.",
             slack),
         {kMessages, kLoaded, kQos0},
         find_loss_accounted},
        {"payloads_intact",
         "Payloads arrived unchanged",
         "Every payload that a receiver took had a length that was sent and the content that "
         "belongs "
         "there.",
         "No payload differs in length or in its fill pattern, at either receiver.",
         {kMessages, kLoaded, kAnyQos},
         find_payloads_intact},
        {"completions_consistent",
         "The driver's completions can be true",
         "The driver completed no message twice, none that it was not given, none too late, and "
         "none "
         "that arrived stayed open.",
         fmt::format("No breach of the driver's contract was seen; completed + failed ≤ sent; and "
                     "when all messages arrived, at most {} are unfinished after the drain.",
                     slack),
         {kAnyKind, kAnyLoad, kAnyQos},
         find_completions_consistent},
        {"window_not_empty",
         "Something was measured",
         "At least one message was confirmed inside the window.",
         "The receiver's count in the window is above 0.",
         {kMessages, kCapacity, kAnyQos},
         find_window_not_empty},
        {"offered_rate_held",
         "The fixed offer was produced",
         "The messages that the schedule asked for in the window were sent in it and, where the "
         "client publishes, reached the sink at the same pace.",
         fmt::format(
             "At least {} of the messages due in the window were sent in it and, on publish "
             "points, arrived in it.{} A client that misses it is not_sustained, a source "
             "that misses it makes the run invalid.",
             held, edge),
         {kMessages, kFixed, kAnyQos},
         find_offered_rate_held},
        {"responses_kept_up",
         "Round trips were answered",
         "The answers came back as fast as the requests left.",
         fmt::format("At least {} of the requests sent in the window were answered in it.{}", held,
                     edge),
         {kRtt, kFixed, kAnyQos},
         find_responses_kept_up},
        {"client_kept_up",
         "The client took the offer",
         "The client received as fast as the source sent.",
         fmt::format("At least {} of the messages that the source sent in the window were taken by "
                     "the client in it.{}",
                     held, edge),
         {kSub, kFixed, kAnyQos},
         find_client_kept_up},
        {"broker_headroom",
         "The broker was not the limit",
         "At a fixed rate and when idle the broker had time to spare, so that latency and cost are "
         "not its own.",
         fmt::format("The broker used less than {:.0f} % of one core in the window.",
                     100 * kBrokerBusyShare),
         {kAnyKind, kFixed | kIdling, kAnyQos},
         find_broker_headroom},
        {"host_quiet",
         "The rest of the machine was quiet",
         "Nothing else took the machine away from the run. The detail names the busiest other "
         "processes and the kernel time that no process is charged for.",
         fmt::format("At most {:.1f} cores were busy outside the client, the peer and the broker. "
                     "Enforced on comparable runs; on others see host_noisy.",
                     kQuietCores),
         {kAnyKind, kAnyLoad, kAnyQos},
         find_host_quiet},
    };
}

} // namespace

const std::vector<CheckEntry>& checks() {
    static const std::vector<CheckEntry> kEntries = make_checks();
    return kEntries;
}

} // namespace mqcore::verdict
