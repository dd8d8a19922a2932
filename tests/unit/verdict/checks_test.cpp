// Every check, once with a run that makes it fail and with runs that it leaves alone. A case breaks one
// thing of a good run; a completeness test sees to it that no check of the table is without a case.

#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/judge.hpp"

#include <algorithm>
#include <iterator>

namespace {

using namespace mqcore::tests;
using namespace mqcore::verdict;

struct Case {
    const char* check;
    const char* what;
    Json (*good)();
    void (*change)(Json& run);
    Outcome outcome = Outcome::fail;
    Party party = Party::client;     // of a failed check
    Status status = Status::invalid; // of the run
    const char* detail = "";         // part of the finding's detail
};

Json pub1() { return pub_document(1, 2000); }
Json pub2() { return pub_document(2, 2000); }
Json pub0_fixed() { return pub_document(0, 2000); }
Json pub0_max() { return pub_document(0, 0); }
Json pub1_max() { return pub_document(1, 0); }
Json sub1() { return sub_document(1, 2000); }
Json sub0_fixed() { return sub_document(0, 2000); }
Json sub0_max() { return sub_document(0, 0); }
Json sub1_max() { return sub_document(1, 0); }
Json pub1_over_time() { return with_series(pub1()); }
Json sub1_over_time() { return with_series(sub1()); }
Json rtt1() { return rtt_document(1); }
Json rtt0() { return rtt_document(0); }

void fail_run(Json& run, const char* party, const char* phase, const char* status,
              const char* reason) {
    at(run, "failure") =
        JsonObject{{"party", party}, {"phase", phase}, {"status", status}, {"reason", reason}};
    at(run, "client.report") = nullptr;
    if (!at(run, "peer").is_null())
        at(run, "peer.report") = nullptr;
    at(run, "broker.fresh") = false;
}

void blind_broker(Json& run, const char* qos) {
    for (const std::string counter : {"publish_received", "publish_sent"}) {
        at(run, "broker.witness." + counter + "." + qos) = "blind";
        at(run, "broker.delta." + counter) = 0;
    }
}

void mute_broker(Json& run) {
    at(run, "broker.witness") = JsonObject{
        {"publish_received",
         JsonObject{{"qos0", "unread"}, {"qos1", "unread"}, {"qos2", "unread"}}},
        {"publish_sent", JsonObject{{"qos0", "unread"}, {"qos1", "unread"}, {"qos2", "unread"}}},
        {"messages_received", "unread"},
        {"messages_sent", "unread"},
        {"reason", "no $SYS topic came within 3 s"}};
    at(run, "broker.fresh") = false;
    for (auto& counter : at(run, "broker.delta").as_object())
        counter.value() = nullptr;
}

const Case kCases[] = {
    // The parties carried the run out.
    {"worker_completed", "a crash inside the client says nothing about its speed", pub1,
     [](Json& run) { fail_run(run, "client", "window", "ended", "signal 11 (Segmentation fault)"); },
     Outcome::fail, Party::client, Status::invalid, "window: signal 11"},
    {"worker_completed", "a client that never connects says nothing about its speed", pub1,
     [](Json& run) { fail_run(run, "client", "connect", "network", "connection refused"); },
     Outcome::fail, Party::client, Status::invalid, "connect: connection refused"},
    {"worker_completed", "a hang says nothing about the client's speed", idle_document,
     [](Json& run) { fail_run(run, "client", "connect", "deadline", "no answer within 15 s"); },
     Outcome::fail, Party::client, Status::invalid, "[deadline]"},
    {"worker_completed", "a connection lost under load is the client's limit", pub1,
     [](Json& run) { fail_run(run, "client", "window", "network", "keep alive timed out"); },
     Outcome::fail, Party::client, Status::not_sustained, "keep alive timed out"},
    {"worker_completed", "a client that cannot do the point says nothing either", pub1,
     [](Json& run) {
         fail_run(run, "client", "connecting", "unsupported", "the broker granted QoS 0 for 't'");
     },
     Outcome::unavailable, {}, Status::unsupported, "granted QoS 0"},
    {"worker_completed", "under load it is too late to say so", pub1,
     [](Json& run) { fail_run(run, "client", "driving", "unsupported", "no QoS 1"); },
     Outcome::fail, Party::client, Status::invalid, "no QoS 1"},
    {"broker_completed", "a broker without the listener that the point needs", pub1,
     [](Json& run) {
         fail_run(run, "broker", "prepare", "unsupported", "the broker has no TLS listener");
     },
     Outcome::unavailable, {}, Status::unsupported, "no TLS listener"},
    {"worker_completed", "no report and no failure is our own fault", pub1,
     [](Json& run) { at(run, "client.report") = nullptr; }, Outcome::fail, Party::harness,
     Status::invalid, "no report of the client"},
    {"worker_completed", "another party's failure leaves it open", pub1,
     [](Json& run) { fail_run(run, "peer", "window", "ended", "signal 9 (Killed)"); },
     Outcome::unavailable, {}, Status::invalid, "before the client could report"},
    {"peer_completed", "a killed peer", pub1,
     [](Json& run) { fail_run(run, "peer", "window", "ended", "signal 9 (Killed)"); },
     Outcome::fail, Party::peer, Status::invalid, "signal 9"},
    {"peer_completed", "a peer without a report", sub1,
     [](Json& run) { at(run, "peer.report") = nullptr; }, Outcome::fail, Party::harness,
     Status::invalid, "no report of the peer"},
    {"broker_completed", "a killed broker", pub1,
     [](Json& run) { fail_run(run, "broker", "window", "ended", "signal 9 (Killed)"); },
     Outcome::fail, Party::broker, Status::invalid, "signal 9"},
    {"receive_maximum_respected", "a broker that sends more than the peer allows", pub1,
     [](Json& run) { at(run, "peer.report.receive.receive_maximum_exceeded") = 12; },
     Outcome::fail, Party::broker, Status::invalid, "12 messages came on top"},
    {"receive_maximum_respected", "QoS 0 is outside of it", pub0_fixed,
     [](Json& run) { at(run, "peer.report.receive.receive_maximum_exceeded") = 12; },
     Outcome::not_applicable, {}, Status::valid, "applies to"},
    {"harness_completed", "an exhausted limit of the machine", pub1,
     [](Json& run) { fail_run(run, "host", "prepare", "failed", "too many open files"); },
     Outcome::fail, Party::host, Status::invalid, "too many open files"},
    {"harness_completed", "an interrupt", pub1,
     [](Json& run) { fail_run(run, "user", "window", "interrupted", "Ctrl-C"); }, Outcome::fail,
     Party::harness, Status::invalid, "Ctrl-C"},
    {"harness_completed", "a run without a schedule", pub1,
     [](Json& run) { at(run, "schedule") = nullptr; }, Outcome::fail, Party::harness,
     Status::invalid, "no schedule"},
    {"broker_counters_read", "a stale reading", pub1,
     [](Json& run) { at(run, "broker.fresh") = false; }, Outcome::fail, Party::harness,
     Status::invalid, "older than the end"},
    {"broker_counters_read", "a broker without counters is no fault of the run", pub1, mute_broker,
     Outcome::unavailable, {}, Status::valid, "no $SYS topic"},

    // The run over time is the run.
    {"series_adds_up", "a run of before there were series", pub1, [](Json&) {},
     Outcome::not_applicable, {}, Status::valid, "not recorded over time"},
    {"series_adds_up", "a message less in an interval of the window", pub1_over_time,
     [](Json& run) { at(run, "client.report.send.series.sent").as_array()[4] = 1999; },
     Outcome::fail, Party::harness, Status::invalid,
     "client: 'sent' by interval is 19,999 in all, the count is 20,000; client: 'sent' by interval "
     "is 15,999 in the window, the count is 16,000"},
    {"series_adds_up", "a message moved from the window to the warm-up", sub1_over_time,
     [](Json& run) {
         JsonArray& arrived = at(run, "client.report.receive.series.arrived").as_array();
         arrived[1] = 2001;
         arrived[2] = 1999;
     },
     Outcome::fail, Party::harness, Status::invalid, "15,999 in the window"},
    {"series_adds_up", "the drain's count changed", sub1_over_time,
     [](Json& run) { at(run, "client.report.receive.drain") = 7; }, Outcome::fail, Party::harness,
     Status::invalid, "is 0 after the window, the count is 7"},
    {"series_adds_up", "a series taken out", pub1_over_time,
     [](Json& run) { at(run, "peer.report.receive").as_object().erase("series"); }, Outcome::fail,
     Party::harness, Status::invalid, "peer: there is no 'arrived' by interval"},
    {"series_adds_up", "more intervals than the schedule has", pub1_over_time,
     [](Json& run) {
         JsonArray& arrived = at(run, "peer.report.receive.series.arrived").as_array();
         arrived.resize(14, 0);
     },
     Outcome::fail, Party::harness, Status::invalid, "has 14 intervals, the schedule 12"},
    {"series_adds_up", "something else than a count", pub1_over_time,
     [](Json& run) { at(run, "client.report.send.series.completed").as_array()[3] = "many"; },
     Outcome::fail, Party::harness, Status::invalid, "has an interval without a count"},
    {"series_adds_up", "the slowest message in no interval", pub1_over_time,
     [](Json& run) {
         at(run, "peer.report.receive.series.since_due_max_us") = JsonArray{nullptr, 3, 4};
     },
     Outcome::fail, Party::harness, Status::invalid, "no interval has the largest latency"},
    {"series_adds_up", "other CPU time than the window's", pub1_over_time,
     [](Json& run) { at(run, "resources.series.broker_cpu_us").as_array()[5] = 0; }, Outcome::fail,
     Party::harness, Status::invalid, "broker: CPU time by interval is 1400000 µs in the window"},
    {"series_adds_up", "a schedule that cannot be cut", pub1_over_time,
     [](Json& run) { at(run, "schedule.interval_ns") = 1; }, Outcome::fail, Party::harness,
     Status::invalid, "cannot be cut"},
    {"series_adds_up", "a bound of the window that was not read", pub1_over_time,
     [](Json& run) {
         at(run, "resources.series.late_us").as_array()[2] = nullptr;
         at(run, "resources.series.client_cpu_us").as_array()[5] = 0;
     },
     Outcome::pass, {}, Status::valid, "adds up"},

    // The broker confirms what the parties say.
    {"broker_confirms_client_publishes", "fewer than were completed", pub1,
     [](Json& run) { add(run, "broker.delta.publish_received", -100); }, Outcome::fail,
     Party::driver, Status::invalid, "the broker counted 19,900"},
    {"broker_confirms_client_publishes", "more than were sent", pub1,
     [](Json& run) { add(run, "broker.delta.publish_received", 100); }, Outcome::fail,
     Party::harness, Status::invalid, "somebody else used the broker"},
    {"broker_confirms_client_publishes", "within the slack", pub1,
     [](Json& run) { add(run, "broker.delta.publish_received", -15); }, Outcome::pass, {},
     Status::valid, "the broker counted 19,985; the client completed and sent 20,000"},
    {"broker_confirms_client_publishes", "beyond the slack", pub1,
     [](Json& run) { add(run, "broker.delta.publish_received", -16); }, Outcome::fail,
     Party::driver, Status::invalid, ""},
    {"broker_confirms_client_publishes", "the echo's answers are taken out", rtt1, [](Json&) {},
     Outcome::pass, {}, Status::valid, "the broker counted 20,000"},
    {"broker_confirms_client_publishes", "a rest in a client's queue is no lie when completions "
                                         "mean 'handed over'",
     pub0_max,
     [](Json& run) {
         at(run, "client.driver.qos0_completion") = 1;
         set_counters(run, 15'000, 0);
         cut_tail(run, "peer.report.receive", 5'000);
     },
     Outcome::pass, {}, Status::valid, "handed over"},
    {"broker_confirms_client_publishes", "the same rest is a lie when they mean 'written'", pub0_max,
     [](Json& run) {
         set_counters(run, 15'000, 0);
         cut_tail(run, "peer.report.receive", 5'000);
     },
     Outcome::fail, Party::driver, Status::invalid, "completed before"},
    {"broker_confirms_client_publishes", "a broker that counts no QoS 2 is asked for its packets",
     pub2, [](Json& run) { blind_broker(run, "qos2"); }, Outcome::unavailable, {}, Status::valid,
     "does not count QoS 2 in 'publish_received'; its packets make 20,000"},
    {"broker_confirms_client_publishes", "its packets can contradict, too", pub2,
     [](Json& run) {
         blind_broker(run, "qos2");
         add(run, "broker.delta.messages_received", -2000);
     },
     Outcome::fail, Party::driver, Status::invalid, "its packets make 19,000"},
    {"broker_confirms_client_publishes", "without any counter the parties' counts stand", pub1,
     mute_broker, Outcome::unavailable, {}, Status::valid, "the parties' own counts stand"},
    {"broker_confirms_peer_publishes", "fewer than the source wrote", sub1,
     [](Json& run) { add(run, "broker.delta.publish_received", -100); }, Outcome::fail,
     Party::broker, Status::invalid, "19,900"},
    {"broker_confirms_deliveries", "more than the sink counted", pub1,
     [](Json& run) { add(run, "broker.delta.publish_sent", 100); }, Outcome::fail, Party::peer,
     Status::invalid, "did not reach the peer"},
    {"broker_confirms_deliveries", "fewer than the sink counted", pub1,
     [](Json& run) { add(run, "broker.delta.publish_sent", -100); }, Outcome::fail, Party::broker,
     Status::invalid, "19,900"},
    {"broker_confirms_deliveries", "strays are deliveries, too", pub1,
     [](Json& run) {
         at(run, "peer.report.receive.stray") = 100;
         add(run, "broker.delta.publish_sent", 100);
     },
     Outcome::pass, {}, Status::valid, "20,100"},
    {"broker_confirms_deliveries", "at capacity a client may have a rest in its socket", sub0_max,
     [](Json& run) { cut_tail(run, "client.report.receive", 4000); }, Outcome::pass, {},
     Status::valid, "counted 16,000, and may be behind"},
    {"broker_confirms_deliveries", "at capacity nobody receives more than was sent", sub0_max,
     [](Json& run) { add(run, "broker.delta.publish_sent", -4000); }, Outcome::fail, Party::broker,
     Status::invalid, "16,000"},
    {"broker_confirms_deliveries", "at a fixed rate the rest is the client's", sub0_fixed,
     [](Json& run) { cut_tail(run, "client.report.receive", 4000); }, Outcome::fail, Party::client,
     Status::not_sustained, "did not take the rest"},

    // What became of the messages.
    {"no_loss", "a loss in the broker", pub1,
     [](Json& run) {
         lose(run, "peer.report.receive", 100);
         add(run, "broker.delta.publish_sent", -100);
     },
     Outcome::fail, Party::broker, Status::invalid, "100 of 20,000 missing"},
    {"no_loss", "the slack hides a single message from the counts", pub1,
     [](Json& run) { lose(run, "peer.report.receive", 1); }, Outcome::pass, {}, Status::invalid,
     ""},
    {"no_loss", "an overflow of the client's queue at a fixed rate", sub1,
     [](Json& run) {
         lose(run, "client.report.receive", 1980);
         at(run, "broker.delta.publish_dropped") = 1980;
         add(run, "broker.delta.publish_sent", -1980);
     },
     Outcome::fail, Party::client, Status::not_sustained, "queue dropped 1,980"},
    {"no_loss", "an overflow at capacity is booked to the queue", sub1_max,
     [](Json& run) {
         lose(run, "client.report.receive", 1980);
         at(run, "broker.delta.publish_dropped") = 1980;
         add(run, "broker.delta.publish_sent", -1980);
     },
     Outcome::pass, {}, Status::valid, "dropped by the broker's queue"},
    {"no_loss", "a backlog at capacity is no loss", sub1_max,
     [](Json& run) {
         cut_tail(run, "client.report.receive", 9000);
         add(run, "broker.delta.publish_sent", -8980);
     },
     Outcome::pass, {}, Status::valid, "not yet taken at the stop"},
    {"no_loss", "drops that cannot be told from losses leave it open", sub1_max,
     [](Json& run) {
         lose(run, "client.report.receive", 50);
         at(run, "broker.delta.publish_dropped") = nullptr;
         at(run, "broker.unavailable").as_object()["publish_dropped"] = "not published";
     },
     Outcome::unavailable, {}, Status::valid, "not published"},
    {"exact_delivery", "one message, lost in the broker", pub1,
     [](Json& run) {
         lose(run, "peer.report.receive", 1);
         add(run, "broker.delta.publish_sent", -1);
     },
     Outcome::fail, Party::broker, Status::invalid, "(sequence numbers 100)"},
    {"exact_delivery", "one message, lost inside the client", sub1,
     [](Json& run) { lose(run, "client.report.receive", 1); }, Outcome::fail, Party::client,
     Status::not_sustained, "lost inside the client"},
    {"exact_delivery", "many: the first few are named", sub1,
     [](Json& run) { lose(run, "client.report.receive", 9); }, Outcome::fail, Party::client,
     Status::not_sustained, "100, 101, 102, 103, 104, 105, 106, 107, …"},
    {"exact_delivery", "a loss and a double that cancel in every count", sub1,
     [](Json& run) {
         add(run, "client.report.receive.ledger.distinct", -1);
         at(run, "client.report.receive.ledger.lost_below_frontier") = 1;
         at(run, "client.report.receive.ledger.duplicates") = 1;
         at(run, "client.report.receive.ledger.first_duplicates") = JsonArray{7};
     },
     Outcome::fail, Party::client, Status::not_sustained, "more than once (sequence numbers 7)"},
    {"exact_delivery", "the last message is still missing after the drain", sub1,
     [](Json& run) { cut_tail(run, "client.report.receive", 1); }, Outcome::fail, Party::client,
     Status::not_sustained, "the last 1 from 19999 on"},
    {"exact_delivery", "what the sender calls unfinished may be missing", pub1,
     [](Json& run) {
         add(run, "client.report.send.completed", -3);
         at(run, "client.report.send.unfinished") = 3;
         cut_tail(run, "peer.report.receive", 3);
         set_counters(run, kTotal - 3, 1);
     },
     Outcome::pass, {}, Status::valid, "3 not confirmed to the sender"},
    {"exact_delivery", "completed, but never at the broker", pub1,
     [](Json& run) {
         cut_tail(run, "peer.report.receive", 3);
         set_counters(run, kTotal - 3, 1);
     },
     Outcome::fail, Party::driver, Status::invalid, "the broker received 19,997 of 20,000"},
    {"exact_delivery", "a number that nobody handed out", pub1,
     [](Json& run) {
         add(run, "peer.report.receive.ledger.frontier", 5);
         add(run, "peer.report.receive.ledger.lost_below_frontier", 5);
     },
     Outcome::fail, Party::client, Status::not_sustained, "only 20,000 messages were handed out"},
    {"exact_delivery", "QoS 0 twice", pub0_max,
     [](Json& run) {
         at(run, "peer.report.receive.ledger.duplicates") = 2;
         at(run, "peer.report.receive.ledger.first_duplicates") = JsonArray{3, 4};
     },
     Outcome::fail, Party::client, Status::not_sustained, "3, 4"},
    {"exact_delivery", "a short payload has no numbers, and that is said", pub1,
     [](Json& run) {
         at(run, "spec.payload_bytes") = JsonArray{8};
         at(run, "peer.report.receive.ledger") = nullptr;
     },
     Outcome::unavailable, {}, Status::valid, "too short for a sequence number"},
    {"exact_delivery", "an answer that was lost inside the client", rtt1,
     [](Json& run) { lose(run, "client.report.receive", 1); }, Outcome::fail, Party::client,
     Status::not_sustained, "peer to client: 1 of 20,000 missing"},
    {"exact_delivery", "a request that was lost is no loss of the answer", rtt1,
     [](Json& run) {
         lose(run, "peer.report.receive", 1);
         add(run, "peer.report.send.sent", -1);
         add(run, "peer.report.send.completed", -1);
         lose(run, "client.report.receive", 1);
         add(run, "broker.delta.publish_received", -1);
         add(run, "broker.delta.publish_sent", -2);
     },
     Outcome::fail, Party::broker, Status::invalid, "client to peer: 1 of 20,000 missing"},
    {"broker_confirms_deliveries", "a client that still empties its own queue at the end", pub0_max,
     [](Json& run) {
         at(run, "client.driver.qos0_completion") = 1;
         cut_tail(run, "peer.report.receive", 5000);
         set_counters(run, 16'000, 0);
     },
     Outcome::pass, {}, Status::valid, "counted 15,000, and may be behind"},
    {"broker_confirms_deliveries", "the same at a fixed rate is the client's", pub0_fixed,
     [](Json& run) {
         at(run, "client.driver.qos0_completion") = 1;
         cut_tail(run, "peer.report.receive", 5000);
         set_counters(run, 16'000, 0);
     },
     Outcome::fail, Party::client, Status::not_sustained, "still publishing at the end"},
    {"loss_accounted", "messages on their way when the peer stops are no loss", pub0_max,
     [](Json& run) {
         at(run, "client.driver.qos0_completion") = 1;
         cut_tail(run, "peer.report.receive", 5000);
         set_counters(run, 16'000, 0);
     },
     Outcome::pass, {}, Status::valid, "1,000 on their way at the end"},
    {"loss_accounted", "a hole is not on its way", pub0_max,
     [](Json& run) {
         at(run, "client.driver.qos0_completion") = 1;
         lose(run, "peer.report.receive", 1000);
     },
     Outcome::fail, Party::peer, Status::invalid, "1,000 unaccounted for"},
    {"loss_accounted", "QoS 0 lost between broker and sink", pub0_max,
     [](Json& run) { lose(run, "peer.report.receive", 100); }, Outcome::fail, Party::peer,
     Status::invalid, "100 unaccounted for"},
    {"loss_accounted", "QoS 0 that the broker dropped for the sink", pub0_max,
     [](Json& run) {
         lose(run, "peer.report.receive", 100);
         at(run, "broker.delta.publish_dropped") = 100;
         add(run, "broker.delta.publish_sent", -100);
     },
     Outcome::pass, {}, Status::valid, "100 dropped by the broker"},
    {"loss_accounted", "a slow QoS 0 reader: dropped and unread make up the rest", sub0_max,
     [](Json& run) {
         lose(run, "client.report.receive", 14'931);
         cut_tail(run, "client.report.receive", 999);
         at(run, "broker.delta.publish_dropped") = 14'931;
         at(run, "broker.delta.publish_sent") = 4'070;
     },
     Outcome::pass, {}, Status::valid, "14,931 dropped by the broker + 999 unread"},
    {"loss_accounted", "a client that is behind a fixed offer", sub0_fixed,
     [](Json& run) { cut_tail(run, "client.report.receive", 4000); }, Outcome::fail, Party::client,
     Status::not_sustained, "4,000 unread"},
    {"loss_accounted", "without the broker's counters it is not known", pub0_max,
     [](Json& run) {
         mute_broker(run);
         lose(run, "peer.report.receive", 100);
     },
     Outcome::unavailable, {}, Status::valid, "100 of 20,000 missing"},
    {"payloads_intact", "a damaged payload at the sink", pub1,
     [](Json& run) {
         at(run, "peer.report.receive.damaged") = 1;
         at(run, "peer.report.receive.first_damaged_bytes") = 255;
     },
     Outcome::fail, Party::client, Status::not_sustained, "with 255 bytes"},
    {"payloads_intact", "a damaged payload at the client", sub1,
     [](Json& run) { at(run, "client.report.receive.damaged") = 2; }, Outcome::fail, Party::client,
     Status::not_sustained, "2 of 20,000 messages at the client"},
    {"completions_consistent", "the driver broke its contract", pub1,
     [](Json& run) { at(run, "client.misuse") = JsonArray{"done-twice: ... (1 time)", "other"}; },
     Outcome::fail, Party::driver, Status::invalid, "done-twice: ... (1 time) (and 1 more)"},
    {"completions_consistent", "a breach that was seen while driving", idle_document,
     [](Json& run) { at(run, "client.report.misuse") = JsonArray{"done-unknown-slot: ..."}; },
     Outcome::fail, Party::driver, Status::invalid, "done-unknown-slot"},
    {"completions_consistent", "more completions than messages", pub1,
     [](Json& run) { add(run, "client.report.send.completed", 1); }, Outcome::fail, Party::driver,
     Status::invalid, "20,001 completions for 20,000 messages"},
    {"completions_consistent", "a driver that never completes", pub1_max,
     [](Json& run) {
         at(run, "client.report.send.sent") = 64;
         at(run, "client.report.send.completed") = 0;
         at(run, "client.report.send.unfinished") = 64;
         at(run, "peer.report.receive") = receive_report(64, 0, false);
         set_counters(run, 64, 1);
     },
     Outcome::fail, Party::driver, Status::invalid, "64 of 64 messages were never completed"},
    {"completions_consistent", "a driver that never completes, one message at a time", pub1_max,
     [](Json& run) {
         at(run, "client.report.send.sent") = 1;
         at(run, "client.report.send.completed") = 0;
         at(run, "client.report.send.unfinished") = 1;
         at(run, "peer.report.receive") = receive_report(1, 0, false);
         set_counters(run, 1, 1);
     },
     Outcome::fail, Party::driver, Status::invalid, "1 of 1 messages were never completed"},
    {"completions_consistent", "a handful of unfinished messages is no breach", pub1,
     [](Json& run) {
         add(run, "client.report.send.completed", -3);
         at(run, "client.report.send.unfinished") = 3;
     },
     Outcome::pass, {}, Status::valid, "3 unfinished"},

    // The point was held.
    {"window_not_empty", "nothing arrived in the window", pub0_max,
     [](Json& run) { at(run, "peer.report.receive.window") = 0; }, Outcome::fail, Party::client,
     Status::not_sustained, "no message was confirmed"},
    {"window_not_empty", "the source sent nothing", sub0_max,
     [](Json& run) {
         at(run, "peer.report.send.sent_window") = 0;
         at(run, "client.report.receive.window") = 0;
     },
     Outcome::fail, Party::peer, Status::invalid, "the source sent nothing"},
    {"offered_rate_held", "a client that sent too little", pub1,
     [](Json& run) { at(run, "client.report.send.sent_window") = 15'000; }, Outcome::fail,
     Party::client, Status::not_sustained, "15,000 of 16,000 (93.8 %)"},
    {"offered_rate_held", "just enough", pub1,
     [](Json& run) { at(run, "client.report.send.sent_window") = 15'680; }, Outcome::pass, {},
     Status::valid, "98.0 %"},
    {"offered_rate_held", "just too little", pub1,
     [](Json& run) { at(run, "client.report.send.sent_window") = 15'679; }, Outcome::fail,
     Party::client, Status::not_sustained, ""},
    {"offered_rate_held", "a library that takes over faster than it writes", pub0_fixed,
     [](Json& run) { at(run, "peer.report.receive.window") = 9'000; }, Outcome::fail, Party::client,
     Status::not_sustained, "reached the sink"},
    {"offered_rate_held", "a source that sent too little", sub1,
     [](Json& run) {
         at(run, "peer.report.send.sent_window") = 15'000;
         at(run, "client.report.receive.window") = 15'000;
     },
     Outcome::fail, Party::peer, Status::invalid, "15,000 of 16,000"},
    {"offered_rate_held", "one message over the window's edge", pub1,
     [](Json& run) {
         at(run, "client.report.send.due_in_window") = 20;
         at(run, "client.report.send.sent_window") = 19;
         at(run, "peer.report.receive.window") = 19;
     },
     Outcome::pass, {}, Status::valid, "19 of 20"},
    {"offered_rate_held", "a stall of 100 ms at the edge of a short window", pub1,
     [](Json& run) {
         at(run, "schedule.window_ns") = 2000 * kMillion;
         at(run, "client.report.send.due_in_window") = 4'000;
         at(run, "client.report.send.sent_window") = 4'000;
         at(run, "peer.report.receive.window") = 3'800;
     },
     Outcome::pass, {}, Status::valid, "4,000 of 4,000"},
    {"offered_rate_held", "a longer stall in a short window", pub1,
     [](Json& run) {
         at(run, "schedule.window_ns") = 2000 * kMillion;
         at(run, "client.report.send.due_in_window") = 4'000;
         at(run, "client.report.send.sent_window") = 4'000;
         at(run, "peer.report.receive.window") = 3'799;
     },
     Outcome::fail, Party::client, Status::not_sustained, "3,799 of 4,000"},
    {"offered_rate_held", "two of two are not an edge", pub1,
     [](Json& run) {
         at(run, "client.report.send.due_in_window") = 2;
         at(run, "client.report.send.sent_window") = 0;
     },
     Outcome::fail, Party::client, Status::not_sustained, "0 of 2"},
    {"offered_rate_held", "a window without a due message", pub1,
     [](Json& run) { at(run, "client.report.send.due_in_window") = 0; }, Outcome::fail,
     Party::harness, Status::invalid, "too short for this rate"},
    {"responses_kept_up", "answers that the client did not take", rtt1,
     [](Json& run) { at(run, "client.report.receive.window") = 15'000; }, Outcome::fail,
     Party::client, Status::not_sustained, "15,000 of 16,000"},
    {"responses_kept_up", "an echo that was late", rtt1,
     [](Json& run) {
         at(run, "client.report.receive.window") = 15'000;
         at(run, "peer.report.send.sent_window") = 15'000;
     },
     Outcome::fail, Party::peer, Status::invalid, "15,000 of 16,000"},
    {"source_rate_held", "a source that sent too little of its half", duplex_document,
     [](Json& run) { at(run, "peer.report.send.sent_window") = 15'000; }, Outcome::fail,
     Party::peer, Status::invalid, "15,000 of 16,000"},
    {"client_kept_up", "a duplex client whose sending starves its receiving", duplex_document,
     [](Json& run) { at(run, "client.report.receive.window") = 15'000; }, Outcome::fail,
     Party::client, Status::not_sustained, "15,000 of 16,000"},
    {"no_loss", "losses of a duplex point are told by direction", duplex_document,
     [](Json& run) { lose(run, "client.report.receive", 300); }, Outcome::fail, Party::client,
     Status::not_sustained, "peer to client: 300"},
    {"callbacks_matched", "a message in the catch-all", filters_document,
     [](Json& run) { at(run, "client.report.receive.catch_all") = 3; }, Outcome::fail,
     Party::client, Status::not_sustained, "3 messages reached no filter's callback"},
    {"callbacks_matched", "a message in the callback of another filter", filters_document,
     [](Json& run) { at(run, "client.report.receive.misdirected") = 1; }, Outcome::fail,
     Party::client, Status::not_sustained, "1 that of another filter"},
    {"properties_delivered", "a message without its properties", properties_document,
     [](Json& run) { at(run, "peer.report.receive.with_properties") = kTotal - 1; }, Outcome::fail,
     Party::client, Status::not_sustained, "19,999 of 20,000"},
    {"topic_alias_used", "the topic was sent each time", alias_document,
     [](Json& run) { at(run, "broker.delta.bytes_received") = kTotal * (256 + 211 + 4); },
     Outcome::fail, Party::client, Status::not_sustained, "467 bytes"},
    {"client_kept_up", "a client that took too little", sub1,
     [](Json& run) { at(run, "client.report.receive.window") = 15'000; }, Outcome::fail,
     Party::client, Status::not_sustained, "15,000 of 16,000"},

    // Nobody else was the limit.
    {"broker_headroom", "a broker at its limit", pub1,
     [](Json& run) { at(run, "resources.broker.cpu_ns") = 6800 * kMillion; }, Outcome::fail,
     Party::broker, Status::invalid, "85.0 % of a core"},
    {"broker_headroom", "a broker just below it", idle_document,
     [](Json& run) { at(run, "resources.broker.cpu_ns") = 6790 * kMillion; }, Outcome::pass, {},
     Status::valid, "84.9 %"},
    {"broker_headroom", "a broker that cannot be sampled", pub1,
     [](Json& run) {
         at(run, "resources.broker") =
             JsonObject{{"cpu_ns", nullptr},
                        {"unavailable", JsonObject{{"cpu_ns", "somebody else's broker"}}}};
     },
     Outcome::unavailable, {}, Status::valid, "somebody else's broker"},
    {"host_quiet", "a busy machine", pub1,
     [](Json& run) { at(run, "resources.host.other_busy_cores") = 0.51; }, Outcome::fail,
     Party::host, Status::invalid,
     "0.51 cores were busy outside the parties: sshd 0.05, kernel time without a process 0.02"},
    {"host_quiet", "a run that is not comparable anyway", pub1,
     [](Json& run) {
         at(run, "comparable") = false;
         at(run, "resources.host.other_busy_cores") = 3.0;
     },
     Outcome::not_applicable, {}, Status::valid, "to be compared"},
    {"host_quiet", "a machine that cannot be read", pub1,
     [](Json& run) { at(run, "resources.host.other_busy_cores") = nullptr; }, Outcome::unavailable,
     {}, Status::valid, "could not be read"},
};

const Finding& finding_of(const Judgement& judgement, std::string_view check) {
    const auto found = std::ranges::find(judgement.checks, check, &CheckResult::id);
    REQUIRE(found != judgement.checks.end());
    return found->finding;
}

} // namespace

TEST_CASE("a check finds what is wrong, whom it blames and what that makes of the run") {
    for (const Case& test : kCases) {
        DYNAMIC_SECTION(test.check << ": " << test.what) {
            Json run = test.good();
            test.change(run);
            const Judgement judgement = judge(run, {});
            const Finding& finding = finding_of(judgement, test.check);
            INFO(finding.detail);
            INFO("reason: " << judgement.reason);
            CHECK(name_of(finding.outcome) == name_of(test.outcome));
            if (test.outcome == Outcome::fail) {
                REQUIRE(finding.party);
                CHECK(name_of(*finding.party) == name_of(test.party));
            }
            CHECK(finding.detail.find(test.detail) != std::string::npos);
            CHECK(name_of(judgement.status) == name_of(test.status));
        }
    }
}

TEST_CASE("every check passes on good runs wherever it applies") {
    Json (*const kGood[])() = {pub1,
                               pub2,
                               pub0_fixed,
                               pub0_max,
                               pub1_max,
                               sub1,
                               sub0_fixed,
                               sub0_max,
                               sub1_max,
                               rtt1,
                               rtt0,
                               idle_document,
                               duplex_document,
                               properties_document,
                               alias_document,
                               filters_document};
    std::vector<std::string> passed;
    for (Json (*good)() : kGood) {
        const Json run = with_series(good());
        const Judgement judgement = judge(run, {});
        INFO(judgement.reason);
        CHECK(judgement.status == Status::valid);
        CHECK(judgement.reason.empty());
        for (const CheckResult& check : judgement.checks) {
            INFO(check.id << ": " << check.finding.detail);
            const bool applies = find_check(check.id)->scope.covers(RunView(run));
            CHECK(name_of(check.finding.outcome) ==
                  name_of(applies ? Outcome::pass : Outcome::not_applicable));
            CHECK_FALSE(check.finding.detail.empty());
            if (applies)
                passed.push_back(check.id);
        }
    }
    for (const CheckEntry& entry : checks()) {
        INFO(entry.id);
        CHECK(std::ranges::find(passed, entry.id) != passed.end());
    }
}

TEST_CASE("no check is without a case that makes it fail") {
    for (const CheckEntry& entry : checks()) {
        INFO(entry.id);
        CHECK(std::ranges::any_of(kCases, [&](const Case& test) {
            return entry.id == test.check && test.outcome == Outcome::fail;
        }));
    }
}

TEST_CASE("in direct mode nothing of a broker is asked for, and the peer's counts judge") {
    for (Json (*good)() : {pub1, pub2, pub0_fixed, pub0_max, sub1, sub0_max, sub1_max, rtt1, rtt0,
                           idle_document, duplex_document}) {
        const Json run = direct(good());
        const Judgement judgement = judge(run, {});
        INFO(judgement.reason);
        CHECK(judgement.status == Status::valid);
        CHECK(judgement.flags.empty());
        for (const CheckResult& check : judgement.checks) {
            INFO(check.id << ": " << check.finding.detail);
            CHECK(check.finding.outcome != Outcome::unavailable);
        }
    }
    Json lost = direct(pub1());
    lose(lost, "peer.report.receive", 40);
    const Judgement judgement = judge(lost, {});
    CHECK(judgement.status == Status::invalid); // completed, and never arrived
    CHECK(name_of(*judgement.party) == name_of(Party::driver));

    Json lied = direct(pub0_fixed());
    cut_tail(lied, "peer.report.receive", 300);
    CHECK(judge(lied, {}).status == Status::invalid); // completed as written
    CHECK(name_of(*judge(lied, {}).party) == name_of(Party::driver));
}
