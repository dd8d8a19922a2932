// Every metric: its value from a good run, and "not available" with a reason where it cannot be had.

#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/judge.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace {

using namespace mqcore::tests;
using namespace mqcore::verdict;

std::map<std::string, MetricValue> metrics_of(const Json& run) {
    std::map<std::string, MetricValue> values;
    for (const MetricResult& result : judge(run, {}).metrics)
        values[result.id] = result.metric;
    return values;
}

struct Unknown {
    const char* metric;
    const char* what;
    void (*change)(Json& run); // of a round trip, which has every metric
    const char* why;
};

const Unknown kUnknown[] = {
    {"rate", "no report", [](Json& run) { at(run, "client.report") = nullptr; },
     "the receiver did not report"},
    {"cpu_us_per_message", "unreadable",
     [](Json& run) {
         at(run, "resources.client") =
             JsonObject{{"unavailable", JsonObject{{"cpu_ns", "permission denied"}}}};
     },
     "permission denied"},
    {"user_us_per_message", "less than a tick",
     [](Json& run) {
         at(run, "resources.client.cpu_user_ns") = nullptr;
         at(run, "resources.client.unavailable").as_object()["cpu_user_ns"] = "less than one tick";
     },
     "less than one tick"},
    {"sys_us_per_message", "no message",
     [](Json& run) { at(run, "client.report.receive.window") = 0; },
     "no message was confirmed in the window"},
    {"cpu_percent", "nothing sampled", [](Json& run) { at(run, "resources") = nullptr; },
     "nothing was sampled"},
    {"broker_cpu_percent", "nothing sampled",
     [](Json& run) { at(run, "resources.broker") = nullptr; }, "nothing was sampled"},
    {"rss_peak_kib", "missing",
     [](Json& run) { at(run, "resources.client.rss_peak_kib") = nullptr; },
     "the run has no 'rss_peak_kib'"},
    {"threads", "missing", [](Json& run) { at(run, "resources.client.threads") = nullptr; },
     "the run has no 'threads'"},
    {"switches_per_1000", "half missing",
     [](Json& run) { at(run, "resources.client.involuntary_switches") = nullptr; },
     "the run has no 'involuntary_switches'"},
    {"instructions_per_message", "no PMU",
     [](Json& run) {
         at(run, "resources.client.user_instructions") = nullptr;
         at(run, "resources.client.unavailable").as_object()["user_instructions"] = "no counter";
     },
     "no counter"},
    {"instructions_per_message", "a file from before they were counted",
     [](Json& run) { at(run, "resources.client").as_object().erase("user_instructions"); },
     "the run has no 'user_instructions'"},
    {"kernel_instructions_per_message", "forbidden",
     [](Json& run) {
         at(run, "resources.client.kernel_instructions") = nullptr;
         at(run, "resources.client.unavailable").as_object()["kernel_instructions"] = "forbidden";
     },
     "forbidden"},
    {"cycles_per_message", "half of them forbidden",
     [](Json& run) {
         at(run, "resources.client.kernel_cycles") = nullptr;
         at(run, "resources.client.unavailable").as_object()["kernel_cycles"] = "forbidden";
     },
     "forbidden"},
    {"system_calls_per_message", "not counted",
     [](Json& run) {
         at(run, "resources.client.system_calls") = nullptr;
         at(run, "resources.client.unavailable").as_object()["system_calls"] = "no tracefs";
     },
     "no tracefs"},
    {"system_calls_per_message", "a still warm-up",
     [](Json& run) { at(run, "resources.client.system_calls.bytes") = 0; },
     "nothing moved while system calls were counted"},
    {"system_calls_per_message", "no traffic known",
     [](Json& run) {
         at(run, "resources.client.tcp") = nullptr;
         at(run, "resources.client.unavailable").as_object()["tcp"] = "a connection ended";
     },
     "a connection ended"},
    {"segments_per_message", "no traffic known",
     [](Json& run) {
         at(run, "resources.client.tcp") = nullptr;
         at(run, "resources.client.unavailable").as_object()["tcp"] = "a connection ended";
     },
     "a connection ended"},
    {"wire_bytes_per_message", "no message",
     [](Json& run) { at(run, "client.report.receive.window") = 0; },
     "no message was confirmed in the window"},
    {"connect_us", "never connected", [](Json& run) { at(run, "client.connect_ns") = nullptr; },
     "the client did not get as far as a connection"},
    {"in_flight_at_stop", "no counter",
     [](Json& run) { at(run, "broker.witness.publish_sent.qos1") = "blind"; },
     "this broker does not count QoS 1 in 'publish_sent'"},
    {"never_sent", "no report", [](Json& run) { at(run, "client.report") = nullptr; },
     "the client did not report what it sent"},
    {"transit_p99_us", "a payload without a stamp",
     [](Json& run) {
         at(run, "spec.payload_bytes") = JsonArray{7};
         at(run, "client.report.receive.transit") = nullptr;
     },
     "a payload of 7 B carries no stamp of 8 bytes"},
    {"since_due_p50_us", "a payload without a sequence number",
     [](Json& run) {
         at(run, "spec.payload_bytes") = JsonArray{8};
         at(run, "client.report.receive.since_due") = nullptr;
     },
     "a payload of 8 B carries no sequence number, so its due time is not known"},
    {"transit_max_us", "an empty window",
     [](Json& run) { at(run, "client.report.receive.transit") = nullptr; },
     "no message of the window was seen"},
    {"lag_p99_us", "no report", [](Json& run) { at(run, "client.report") = nullptr; },
     "the client did not report what it sent"},
    {"receive_transit_p99_us", "no report of a duplex client",
     [](Json& run) {
         run = duplex_document();
         at(run, "client.report") = nullptr;
     },
     "the receiver did not report"},
    {"receive_since_due_p99_us", "nothing received in the window",
     [](Json& run) {
         run = duplex_document();
         at(run, "client.report.receive.since_due") = nullptr;
     },
     "no message of the window was seen"},
    {"effective_window", "a receiver without a Receive Maximum",
     [](Json& run) { run = sub_document(); }, "neither side of the connection named a limit"},
};

} // namespace

TEST_CASE("metrics are computed from what the other party confirmed") {
    Json run = rtt_document();
    at(run, "client.report.send.never_sent") = 7;
    add(run, "broker.delta.publish_sent", 12);
    const auto values = metrics_of(run);
    // 16,000 messages in 8 s; 1.6 s of user and 0.8 s of system time; 6,400 switches
    const std::map<std::string, double> expected = {
        {"rate", 2000},
        {"cpu_us_per_message", 150},
        {"user_us_per_message", 100},
        {"sys_us_per_message", 50},
        {"cpu_percent", 30},
        {"broker_cpu_percent", 20},
        {"rss_peak_kib", 9000},
        {"threads", 3},
        {"switches_per_1000", 400},
        {"instructions_per_message", 200'000},
        {"kernel_instructions_per_message", 50'000},
        {"cycles_per_message", 140'000},
        {"system_calls_per_message", 5}, // 1 in 100 bytes, 500 bytes a message
        {"segments_per_message", 2.5},
        {"wire_bytes_per_message", 500},
        {"connect_us", 1500},
        {"in_flight_at_stop", 12},
        {"never_sent", 7},
        {"effective_window", 64},
        // 100 µs and every 10 ns; since due 150 µs, lag 20 µs and every 50 ns
        {"transit_p50_us", 180},
        {"transit_p90_us", 244},
        {"transit_p99_us", 258.4},
        {"transit_p999_us", 259.8},
        {"transit_max_us", 259.99},
        {"since_due_p50_us", 550},
        {"since_due_p90_us", 870},
        {"since_due_p99_us", 942},
        {"since_due_p999_us", 949.2},
        {"since_due_max_us", 949.95},
        {"lag_p50_us", 420},
        {"lag_p90_us", 740},
        {"lag_p99_us", 812},
        {"lag_p999_us", 819.2},
        {"lag_max_us", 819.95},
    };
    for (const auto& [id, value] : expected) {
        CAPTURE(id);
        REQUIRE(values.contains(id));
        REQUIRE(values.at(id).value);
        // A bucket of the histogram is 1.6 % wide and answers with its upper end.
        CHECK(*values.at(id).value == Approx(value).epsilon(0.016));
    }
    for (const MetricEntry& entry : metrics()) {
        INFO(entry.id);
        const bool is_of_duplex = entry.histogram.starts_with("receive_");
        CHECK(expected.contains(entry.id) == !is_of_duplex);
    }
}

TEST_CASE("a duplex point counts both directions and has the latency of each") {
    Json run = duplex_document();
    at(run, "client.report.receive.transit") = histogram_of(kWindow, 300'000, 0);
    const auto values = metrics_of(run);
    CHECK(*values.at("rate").value == Approx(4000));
    CHECK(*values.at("cpu_us_per_message").value == Approx(75));
    CHECK(*values.at("transit_p50_us").value == Approx(180).epsilon(0.016));
    CHECK(*values.at("receive_transit_p50_us").value == Approx(300).epsilon(0.016));
    CHECK(*values.at("receive_since_due_p50_us").value == Approx(550).epsilon(0.016));
}

TEST_CASE("the effective window is the smaller one of both sides") {
    Json run = pub_document(1, 0);
    CHECK(*metrics_of(run).at("effective_window").value == 64);
    at(run, "spec.protocol") = "5";
    at(run, "peer.connected").as_object()["receive_maximum"] = 20;
    CHECK(*metrics_of(run).at("effective_window").value == 20);
    Json sub = sub_document(1, 0);
    at(sub, "spec.receive_maximum") = 16;
    CHECK(*metrics_of(sub).at("effective_window").value == 16);
}

TEST_CASE("the rate is what arrived at the other end, not what the client calls completed") {
    Json pub = pub_document(0, 0);
    at(pub, "client.report.send.completed_window") = 999'999;
    at(pub, "peer.report.receive.window") = 8'000;
    CHECK(*metrics_of(pub).at("rate").value == Approx(1000));

    Json sub = sub_document(0, 0);
    at(sub, "peer.report.send.sent_window") = 999'999;
    at(sub, "client.report.receive.window") = 4'000;
    CHECK(*metrics_of(sub).at("rate").value == Approx(500));
    CHECK(*metrics_of(sub).at("cpu_us_per_message").value == Approx(600));
}

TEST_CASE("a value that cannot be had is null with a reason, never 0") {
    for (const Unknown& test : kUnknown) {
        DYNAMIC_SECTION(test.metric << ": " << test.what) {
            Json run = rtt_document();
            test.change(run);
            const auto values = metrics_of(run);
            REQUIRE(values.contains(test.metric));
            CHECK_FALSE(values.at(test.metric).value);
            CHECK(values.at(test.metric).unavailable == test.why);
        }
    }
    std::set<std::string> tried;
    for (const Unknown& test : kUnknown)
        tried.insert(test.metric);
    for (const MetricEntry& entry : metrics()) {
        INFO(entry.id);
        CHECK(std::ranges::any_of(tried, [&](const std::string& id) {
            return id == entry.id || (!entry.histogram.empty() && id.starts_with(entry.histogram));
        }));
    }
}

TEST_CASE("a point has the metrics of its kind") {
    const auto idle = metrics_of(idle_document());
    CHECK(idle.contains("connect_us"));
    CHECK(idle.contains("cpu_percent"));
    CHECK_FALSE(idle.contains("rate"));
    const auto capacity = metrics_of(pub_document(1, 0));
    CHECK(capacity.contains("transit_p50_us"));
    CHECK_FALSE(capacity.contains("lag_p99_us"));
    CHECK_FALSE(capacity.contains("since_due_p99_us"));
    const auto sub = metrics_of(sub_document());
    CHECK(sub.contains("in_flight_at_stop"));
    CHECK_FALSE(sub.contains("never_sent"));
}
