// The point was held.

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
    if (!is_held(*send->sent_window, due, run.window_seconds()))
        return blame(run.is_sent_by_client() ? Party::client : Party::peer,
                     of_offer(*send->sent_window, due) + " due messages were sent in the window");
    // What a publishing client sends, the sink must see at the same pace: a library may take messages
    // over faster than it writes them.
    if (run.kind != Kind::rtt && run.is_sent_by_client() && run.peer.receive &&
        run.peer.receive->window && !is_held(*run.peer.receive->window, due, run.window_seconds()))
        return blame(Party::client, of_offer(*run.peer.receive->window, due) +
                                        " due messages reached the sink in the window");
    return pass(of_offer(*send->sent_window, due));
}

Finding find_source_rate_held(const RunView& run, const Context&) {
    const std::optional<SendView>& send = run.peer.send;
    if (!send || !send->sent_window || !send->due_in_window)
        return unavailable("the source did not report");
    const std::string detail = of_offer(*send->sent_window, *send->due_in_window);
    return is_held(*send->sent_window, *send->due_in_window, run.window_seconds())
               ? pass(detail)
               : blame(Party::peer, detail + " due messages were sent to the client in the window");
}

Finding find_responses_kept_up(const RunView& run, const Context&) {
    if (!run.worker.send || !run.worker.send->sent_window || !run.worker.receive ||
        !run.worker.receive->window)
        return unavailable("the client did not report");
    const std::uint64_t asked = *run.worker.send->sent_window;
    const std::uint64_t answered = *run.worker.receive->window;
    if (is_held(answered, asked, run.window_seconds()))
        return pass(of_offer(answered, asked));
    const bool echo_was_late = run.peer.receive && run.peer.send && run.peer.receive->window &&
                               run.peer.send->sent_window &&
                               is_held(*run.peer.receive->window, asked, run.window_seconds()) &&
                               !is_held(*run.peer.send->sent_window, asked, run.window_seconds());
    return blame(echo_was_late ? Party::peer : Party::client,
                 of_offer(answered, asked) + " requests were answered in the window");
}

Finding find_client_kept_up(const RunView& run, const Context&) {
    if (!run.peer.send || !run.peer.send->sent_window || !run.worker.receive ||
        !run.worker.receive->window)
        return unavailable("a party did not report");
    const std::uint64_t offered = *run.peer.send->sent_window;
    const std::uint64_t taken = *run.worker.receive->window;
    return is_held(taken, offered, run.window_seconds())
               ? pass(of_offer(taken, offered))
               : blame(Party::client,
                       of_offer(taken, offered) + " messages were taken in the window");
}

} // namespace

std::vector<CheckEntry> checks_of_load() {
    const std::string held = fmt::format("{:.0f} %", 100 * kHeldShare);
    const std::string edge = fmt::format(
        " One stall at the window's edge is forgiven: {:.0f} ms of the offer (which matters "
        "in windows below {:.0f} s), or one message of at least {}.",
        1000 * kEdgeSeconds, kEdgeSeconds / (1 - kHeldShare), kEdgeOneIn);
    return {
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
        {"source_rate_held",
         "The source held its half of a duplex point",
         "The peer sent to the client what the schedule asked for, while it received.",
         fmt::format("At least {} of the source's messages due in the window were sent in it.{}",
                     held, edge),
         {kDuplex, kFixed, kAnyQos},
         find_source_rate_held},
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
         {kPeerSends, kFixed, kAnyQos},
         find_client_kept_up},
    };
}

} // namespace mqcore::verdict
