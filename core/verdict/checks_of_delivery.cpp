// What became of the messages.

#include "support/text.hpp"
#include "verdict/accounts.hpp"
#include "verdict/checks.hpp"
#include "verdict/scopes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using scenario::Kind;
using support::format_count;
using namespace scopes;

template <class Judge>
Finding worst_of_legs(const RunView& run, Judge judge) {
    const std::vector<Leg> legs = legs_of(run);
    const bool has_two = run.kind == Kind::rtt || run.kind == Kind::duplex;
    if (legs.size() < (has_two ? 2u : 1u))
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
                     fmt::format("{}; the {} received {} of {}", lost,
                                 run.is_direct ? "peer" : "broker", format_count(*broker.value),
                                 format_count(leg.sent)));
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
    if (run.is_direct && !leg.is_to_client && !has_hollow_completions(run))
        return blame(Party::driver, fmt::format("{}: {} completed as '{}', {} arrived",
                                                words_of(leg), format_count(leg.sent),
                                                run.qos0_completion, format_count(arrived)));
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

// Bytes of a run that the broker counted, less the acknowledgements of as many messages; nothing: no
// such counter. MQTT 3.1.1 and 5, sections 3.4 to 3.7: an acknowledgement without a reason has 4 bytes.
Count bytes_without_acks(const RunView& run, std::string_view counter, Count acknowledged) {
    constexpr std::uint64_t kAckBytes[] = {0, 4, 8};
    const Count bytes = run.counter(counter).delta;
    if (!bytes || !acknowledged)
        return std::nullopt;
    return *bytes - std::min(*bytes, kAckBytes[run.qos] * *acknowledged);
}

std::uint64_t mean_payload(const RunView& run) {
    std::uint64_t sum = 0;
    for (const std::uint32_t bytes : run.payload_bytes)
        sum += bytes;
    return run.payload_bytes.empty() ? 0 : sum / run.payload_bytes.size();
}

// Content of the properties: what is on the wire at least.
std::uint64_t property_bytes(const RunView& run) {
    const Node properties = run.raw["spec"]["properties"];
    std::uint64_t bytes = 0;
    for (const char* key : {"content_type", "response_topic", "correlation_data"})
        if (const std::string text = properties.text(key); !text.empty())
            bytes += 3 + text.size(); // identifier and length
    if (const Node user = properties["user"]; user && user.json()->is_array())
        for (const support::Json& pair : user.json()->get_array())
            bytes += 5 + pair.at(0).as_string().size() + pair.at(1).as_string().size();
    return bytes;
}

Finding find_properties_delivered(const RunView& run, const Context&) {
    if (run.peer.receive) { // the sink has read them
        const ReceiveView& sink = *run.peer.receive;
        if (!sink.with_properties || !sink.total)
            return unavailable("the sink did not report");
        const std::string detail =
            fmt::format("{} of {} messages had the properties that the client was to send",
                        format_count(*sink.with_properties), format_count(*sink.total));
        return *sink.with_properties == *sink.total ? pass(detail) : blame(Party::client, detail);
    }
    // Nobody but the client reads what the broker sends it, so bytes have to tell.
    if (run.is_direct)
        return pass("the peer sent them itself");
    const Count messages = run.counter("publish_sent").delta;
    const Count bytes = bytes_without_acks(run, "bytes_sent",
                                           run.peer.send ? run.peer.send->completed : std::nullopt);
    if (!messages || !bytes || *messages == 0)
        return unavailable("the broker counted neither bytes nor messages");
    const std::uint64_t each = *bytes / *messages;
    const std::uint64_t needed = mean_payload(run) + run.topic_bytes + property_bytes(run);
    const std::string detail = fmt::format(
        "the broker sent {} bytes a message; payload, topic and properties have {}", each, needed);
    return each >= needed ? pass(detail) : blame(Party::broker, detail);
}

Finding find_topic_alias_used(const RunView& run, const Context&) {
    const Count messages = run.worker.send ? run.worker.send->sent : std::nullopt;
    const Count acknowledged = run.peer.receive ? run.peer.receive->deliveries() : std::nullopt;
    if (run.is_direct && run.peer.receive) { // the server has read every topic
        const Count empty = run.peer.receive->with_empty_topic;
        if (!empty || !acknowledged)
            return unavailable("the peer did not report");
        const std::string detail = fmt::format("{} of {} publishes had an empty topic",
                                               format_count(*empty), format_count(*acknowledged));
        return *empty + 1 >= *acknowledged ? pass(detail) : blame(Party::client, detail);
    }
    const Count bytes = bytes_without_acks(run, "bytes_received", acknowledged);
    if (!messages || !bytes || *messages == 0)
        return unavailable(bytes ? "the client did not report what it sent"
                                 : run.counter("bytes_received").why_unavailable);
    const std::uint64_t each = *bytes / *messages;
    const std::uint64_t limit = mean_payload(run) + run.topic_bytes / 2;
    const std::string detail =
        fmt::format("{} bytes reached the broker for each publish; payload and half of the topic "
                    "have {}",
                    each, limit);
    return each < limit ? pass(detail) : blame(Party::client, detail);
}

Finding find_callbacks_matched(const RunView& run, const Context&) {
    if (!run.worker.receive || !run.worker.receive->catch_all || !run.worker.receive->misdirected)
        return unavailable("the client did not report");
    const ReceiveView& receive = *run.worker.receive;
    if (*receive.catch_all == 0 && *receive.misdirected == 0)
        return pass(fmt::format("{} messages reached the callbacks of their {} filters",
                                format_count(receive.total.value_or(0)), run.filters));
    return blame(Party::client,
                 fmt::format("{} messages reached no filter's callback, {} that of another filter",
                             format_count(*receive.catch_all), format_count(*receive.misdirected)));
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

} // namespace

std::vector<CheckEntry> checks_of_delivery() {
    const std::string slack =
        fmt::format("{} messages and {:.2f} % of the count", kSlack, 100 * kSlackShare);
    return {
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
        {"callbacks_matched",
         "Each message reached the callback of its filter",
         "Where the library dispatches to a callback for each filter, every message was counted by "
         "the "
         "callback whose filter its topic matches.",
         "No message came through a catch-all, and none through the callback of another filter: "
         "its "
         "sequence number tells the topic it was sent to.",
         {kSub, kLoaded, kAnyQos, kFilters},
         find_callbacks_matched},
        {"properties_delivered",
         "The MQTT 5 properties were there",
         "Every message carried the PUBLISH properties of the point.",
         "Publish: the sink read content type, response topic, correlation data and user "
         "properties "
         "of "
         "every message, and all were as sent. Receive: the broker's bytes sent per message, "
         "without "
         "acknowledgements, are at least payload, topic and properties.",
         {kPub | kSub, kLoaded, kAnyQos, kProperties},
         find_properties_delivered},
        {"topic_alias_used",
         "The topic alias stood for the topic",
         "The long topic was not sent with each message.",
         "Bytes that the broker received per publish of the client, without the sink's "
         "acknowledgements, "
         "are below the payload and half of the topic.",
         {kClientSends, kLoaded, kAnyQos, kTopicAlias},
         find_topic_alias_used},
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
    };
}

} // namespace mqcore::verdict
