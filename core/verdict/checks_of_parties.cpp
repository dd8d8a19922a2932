// The parties carried the run out.

#include "support/text.hpp"
#include "verdict/checks.hpp"
#include "verdict/scopes.hpp"
#include "verdict/series.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using namespace scopes;

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

// A party said in so many words that it cannot do what the point needs: nobody failed.
std::optional<Finding> find_unsupported(const RunView& run, Party party) {
    if (!has_failed(run, party) || run.failure.text("status") != name_of(Status::unsupported) ||
        is_under_load(run.failure.text("phase")))
        return std::nullopt;
    Finding finding = unavailable(words_of_failure(run));
    finding.status = Status::unsupported;
    return finding;
}

Finding find_worker_completed(const RunView& run, const Context&) {
    if (auto finding = find_unsupported(run, Party::client))
        return *std::move(finding);
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
    if (auto finding = find_unsupported(run, Party::broker))
        return *std::move(finding);
    if (has_failed(run, Party::broker))
        return blame(Party::broker, words_of_failure(run));
    return run.failure ? unavailable("the run ended early for another reason")
                       : pass("served the whole run");
}

// MQTT 5 section 3.3.4: the sender must not have more unacknowledged QoS 1 and 2 messages out than the
// receiver's Receive Maximum, which is 65,535 when the receiver names none.
Finding find_receive_maximum_respected(const RunView& run, const Context&) {
    const Count exceeded =
        run.peer.receive ? run.peer.receive->receive_maximum_exceeded : std::nullopt;
    if (!exceeded)
        return unavailable("the peer did not report");
    if (*exceeded == 0)
        return pass("never more unacknowledged messages than the peer allows");
    return blame(Party::broker, fmt::format("{} messages came on top of the peer's Receive Maximum",
                                            support::format_count(*exceeded)));
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

Finding find_series_adds_up(const RunView& run, const Context&) {
    if (!run.raw["schedule"]["interval_ns"])
        return not_applicable("the run was not recorded over time");
    if (!run.worker.has_report && !run.peer.has_report)
        return unavailable("no party reported");
    if (!series_of(run))
        return blame(Party::harness, "the schedule cannot be cut into its intervals");
    const std::vector<std::string> faults = faults_of_series(run);
    return faults.empty() ? pass("every series adds up to its count")
                          : blame(Party::harness, fmt::format("{}", fmt::join(faults, "; ")));
}

} // namespace

std::vector<CheckEntry> checks_of_parties() {
    return {
        {"worker_completed",
         "The client's process carried the run out",
         "The process that hosts the client connected, followed the schedule and handed over its "
         "counters.",
         "Fails when the client's process failed, ended or did not answer in time; the detail "
         "names "
         "the phase. A connection that was lost under load is the client's own limit "
         "(not_sustained). A client that says while it connects that it cannot do what the point "
         "needs is refused (unsupported). Anything else is invalid, because no speed was seen.",
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
         "Fails when the broker ended or refused its service during the run. A broker without the "
         "listener that the point needs makes the pair unsupported.",
         {kAnyKind, kAnyLoad, kAnyQos, 0, true},
         find_broker_completed},
        {"receive_maximum_respected",
         "The broker kept to the peer's Receive Maximum",
         "The broker had no more messages on their way to the peer than the peer allows "
         "unacknowledged; a broker that has lets a publisher look faster than the protocol "
         "permits.",
         "Fails when the peer counted a QoS 1 or 2 message beyond its Receive Maximum (MQTT 5 "
         "section 3.3.4; 65,535 where it names none).",
         {kPub | kRtt, kLoaded, kQos12, 0, true},
         find_receive_maximum_respected},
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
         {kMessages, kLoaded, kAnyQos, 0, true},
         find_broker_counters_read},
        {"series_adds_up",
         "The run over time adds up to the run",
         "What the parties counted in each interval of the run is in sum what they counted as a "
         "whole, and so is the CPU time that was read at the intervals' bounds.",
         "Exact for messages sent, completed and arrived, in all, in the window and after it; "
         "to a microsecond for the CPU time of the window. Some interval has the largest latency. "
         "Does not apply to runs of before series were recorded.",
         {kAnyKind, kAnyLoad, kAnyQos},
         find_series_adds_up},
    };
}

} // namespace mqcore::verdict
