// Every flag, once raised by a run that is otherwise good, and never on a good run.

#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/judge.hpp"

#include <algorithm>
#include <iterator>

namespace {

using namespace mqcore::tests;
using namespace mqcore::verdict;

const Context kWithCeiling{
    .profile = "standard",
    .ceilings = {{.qos = 0, .protocol = "3.1.1", .payload_bytes = 256, .rate = 2050}},
    .floors = {}};

// A good run costs its client 150 us a message.
const Context kWithFloor{.profile = "standard",
                         .ceilings = {},
                         .floors = {{.client = "paho-c", .publish_ns = 2900, .receive_ns = 200}}};

const Context kWithBreaches{.profile = "standard",
                            .ceilings = {},
                            .floors = {},
                            .breaches = {{"paho-c", {"done-not-early", "spins"}}}};
const Context kWithOthersBreaches{.profile = "standard",
                                  .ceilings = {},
                                  .floors = {},
                                  .breaches = {{"paho", {"done-not-early"}}}};

struct Case {
    const char* flag;
    const char* what;
    Json (*good)();
    void (*change)(Json& run);
    const char* detail;
    bool is_raised = true;
    Status status = Status::valid;
    const Context* context = nullptr;
};

Json pub1() { return pub_document(1, 2000); }
Json pub1_max() { return pub_document(1, 0); }
Json pub0_max() { return pub_document(0, 0); }
Json rtt1() { return rtt_document(1); }
Json sub1() { return sub_document(1, 2000); }
Json sub0_max() { return sub_document(0, 0); }
Json sub1_max() { return sub_document(1, 0); }
// At capacity a good receiver does not take the whole offer, or the offer would be the limit.
Json sub0_behind() {
    Json run = sub0_max();
    cut_tail(run, "client.report.receive", 4000);
    at(run, "client.report.receive.window") = 12'000;
    return run;
}

const Case kCases[] = {
    {"broker_bound", "a broker at its limit", pub1_max,
     [](Json& run) { at(run, "resources.broker.cpu_ns") = 7200 * kMillion; },
     "the broker used 90.0 % of a core"},
    {"broker_bound", "a rate at the measured ceiling", pub0_max, [](Json&) {},
     "97.6 % of the broker's measured ceiling", true, Status::valid, &kWithCeiling},
    {"broker_bound", "a rate below the ceiling", pub0_max,
     [](Json& run) { at(run, "peer.report.receive.window") = 15'000; }, "", false, Status::valid,
     &kWithCeiling},
    {"broker_bound", "a ceiling of another QoS", pub1_max, [](Json&) {}, "", false, Status::valid,
     &kWithCeiling},
    {"offer_bound", "the client took everything", sub0_max, [](Json&) {},
     "16,000 of 16,000 offered messages"},
    {"offer_bound", "the client was behind", sub0_behind, [](Json&) {}, "", false},
    {"broker_queue_overflow", "QoS 1 dropped at capacity", sub1_max,
     [](Json& run) {
         lose(run, "client.report.receive", 1980);
         at(run, "broker.delta.publish_dropped") = 1980;
         add(run, "broker.delta.publish_sent", -1980);
     },
     "dropped 1,980 messages"},
    {"qos0_dropped", "QoS 0 dropped for a slow reader", sub0_behind,
     [](Json& run) { at(run, "broker.delta.publish_dropped") = 4000; }, "dropped 4,000 messages"},
    {"lost_in_client", "gaps that the broker did not drop", sub0_behind,
     [](Json& run) { lose(run, "client.report.receive", 300); }, "300 messages"},
    {"lost_in_client", "gaps that the broker dropped", sub0_behind,
     [](Json& run) {
         lose(run, "client.report.receive", 300);
         at(run, "broker.delta.publish_dropped") = 300;
     },
     "", false},
    {"publishes_failed", "two refused publishes", pub1_max,
     [](Json& run) {
         add(run, "client.report.send.completed", -2);
         at(run, "client.report.send.failed") = 2;
     },
     "2 of 20,000 publishes failed"},
    {"host_noisy", "a busy machine on a run that is not comparable", pub1,
     [](Json& run) {
         at(run, "comparable") = false;
         at(run, "resources.host.other_busy_cores") = 0.9;
     },
     "0.90 cores were busy outside the parties: sshd"},
    {"host_noisy", "on a comparable run it is a check", pub1,
     [](Json& run) { at(run, "resources.host.other_busy_cores") = 0.9; }, "", false,
     Status::invalid},
    {"non_comparable", "a smoke run", pub1,
     [](Json& run) {
         at(run, "comparable") = false;
         at(run, "not_comparable_because") = JsonArray{"profile smoke", "2 physical cores"};
     },
     "profile smoke; 2 physical cores"},
    {"non_comparable", "a run that does not say so", pub1,
     [](Json& run) { at(run, "comparable") = nullptr; }, "not marked as comparable"},
    {"witness_missing", "a broker that does not count this QoS", pub1,
     [](Json& run) { at(run, "broker.witness.publish_received.qos1") = "blind"; },
     "does not count QoS 1 in 'publish_received'"},
    {"witness_missing", "a broker that does not count another QoS", pub1,
     [](Json& run) { at(run, "broker.witness.publish_received.qos2") = "blind"; }, "", false},
    {"strays", "messages of another run at the sink", pub1,
     [](Json& run) {
         at(run, "peer.report.receive.stray") = 3;
         add(run, "broker.delta.publish_sent", 3);
     },
     "3 at the peer"},
    {"strays", "arrivals that nobody subscribed to", idle_document,
     [](Json& run) { at(run, "client.report.unexpected") = 2; }, "2 messages reached a client"},
    {"impossible_latency", "a stamp from the future", pub1,
     [](Json& run) { at(run, "peer.report.receive.impossible_latency") = 4; }, "4 at the peer"},
    {"redelivered", "a DUP flag", pub1,
     [](Json& run) { at(run, "peer.report.receive.dup_flagged") = 1; }, "1 at the peer"},
    {"reordered", "a message after a later one", sub0_behind,
     [](Json& run) { at(run, "client.report.receive.ledger.reordered") = 5; }, "5 at the client"},
    {"nagle_on", "a client that leaves Nagle's algorithm on", pub1,
     [](Json& run) { at(run, "client").as_object()["tcp_nodelay"] = false; },
     "TCP_NODELAY is off at the client"},
    {"nagle_on", "a broker that does", pub1,
     [](Json& run) {
         at(run, "client").as_object()["tcp_nodelay"] = true;
         at(run, "broker").as_object()["tcp_nodelay"] = false;
     },
     "TCP_NODELAY is off at the broker"},
    {"nagle_on", "a socket that cannot be looked at", pub1,
     [](Json& run) { at(run, "client").as_object()["tcp_nodelay"] = nullptr; }, "", false},
    {"teardown_failed", "a client that does not exit", idle_document,
     [](Json& run) {
         at(run, "client").as_object()["teardown"] =
             JsonObject{{"party", "client"}, {"reason", "it did not exit after 'finished'"}};
     },
     "it did not exit"},
    {"nonconforming", "a driver whose check failed", pub1, [](Json&) {},
     "its check failed: done-not-early, spins", true, Status::valid, &kWithBreaches},
    {"nonconforming", "another driver's check failed", pub1, [](Json&) {}, "", false, Status::valid,
     &kWithOthersBreaches},
    {"floor_matters", "publish and receive together above the limit", rtt1, [](Json&) {},
     "mqcore's own cost is 3100 ns of 150000 ns a message (2.1 %)", true, Status::valid,
     &kWithFloor},
    {"floor_matters", "a cheap publisher", pub1,
     [](Json& run) { at(run, "resources.client.cpu_ns") = 320 * kMillion; },
     "2900 ns of 20000 ns a message (14.5 %)", true, Status::valid, &kWithFloor},
    {"floor_matters", "a client that costs enough", pub1, [](Json&) {}, "", false, Status::valid,
     &kWithFloor},
    {"floor_matters", "receiving alone, below the limit", sub1, [](Json&) {}, "", false,
     Status::valid, &kWithFloor},
    {"floor_matters", "a duplex message is either sent or received", duplex_document, [](Json&) {},
     "mqcore's own cost is 1550 ns of 75000 ns a message (2.1 %)", true, Status::valid,
     &kWithFloor},
    {"floor_matters", "a floor of another client", pub1,
     [](Json& run) {
         at(run, "client_name") = "gmqtt";
         at(run, "resources.client.cpu_ns") = 320 * kMillion;
     },
     "", false, Status::valid, &kWithFloor},
    {"few_samples", "a window with few latencies", pub1,
     [](Json& run) { at(run, "peer.report.receive.transit") = histogram_of(999, 1000, 1); },
     "999 samples"},
    {"few_samples", "a window with just enough", pub1,
     [](Json& run) { at(run, "peer.report.receive.transit") = histogram_of(1000, 1000, 1); }, "",
     false},
};

} // namespace

TEST_CASE("a flag is raised by what it says and changes no status") {
    for (const Case& test : kCases) {
        DYNAMIC_SECTION(test.flag << ": " << test.what) {
            Json run = test.good();
            test.change(run);
            const Judgement judgement = judge(run, test.context ? *test.context : Context{});
            INFO(judgement.reason);
            const auto found = std::ranges::find(judgement.flags, test.flag, &FlagResult::id);
            CHECK((found != judgement.flags.end()) == test.is_raised);
            if (found != judgement.flags.end()) {
                INFO(found->detail);
                CHECK(found->detail.find(test.detail) != std::string::npos);
            }
            CHECK(name_of(judgement.status) == name_of(test.status));
        }
    }
}

TEST_CASE("good runs raise no flag") {
    for (const Json& run : {pub1(), pub1_max(), pub0_max(), sub0_behind(), sub_document(),
                            rtt_document(), idle_document()}) {
        for (const FlagResult& flag : judge(run, {}).flags) {
            CAPTURE(flag.id, flag.detail);
            CHECK(false);
        }
    }
}

TEST_CASE("no flag is without a case that raises it") {
    for (const FlagEntry& entry : flags()) {
        INFO(entry.id);
        CHECK(std::ranges::any_of(
            kCases, [&](const Case& test) { return entry.id == test.flag && test.is_raised; }));
    }
}
