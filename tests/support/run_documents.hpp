#pragma once
// Raw run documents of runs in which everything went well, as the session writes them, and a way to
// change one value of them. A test starts from one of these and breaks exactly what it is about.

#include "measure/histogram.hpp"
#include "support/json.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace mqcore::tests {

using support::Json;
using support::JsonArray;
using support::JsonObject;

constexpr std::uint64_t kMillion = 1'000'000;

// Histogram of `count` values from `from_ns` on, each `step_ns` larger.
inline Json histogram_of(std::uint64_t count, std::uint64_t from_ns, std::uint64_t step_ns) {
    measure::Histogram histogram;
    for (std::uint64_t i = 0; i < count; ++i)
        histogram.record(from_ns + i * step_ns);
    return histogram.to_json();
}

struct Sent {
    std::uint64_t total = 0;
    std::uint64_t window = 0;
    bool is_paced = false;
    std::uint64_t slept = 0;
};

inline Json send_report(const Sent& sent) {
    return JsonObject{
        {"sent", sent.total},
        {"sent_window", sent.window},
        {"completed", sent.total},
        {"completed_window", sent.window},
        {"failed", 0},
        {"unfinished", 0},
        {"slept", sent.slept},
        {"window_full", 0},
        {"due_in_window", sent.is_paced ? Json(sent.window) : Json(nullptr)},
        {"never_sent", sent.is_paced ? Json(0) : Json(nullptr)},
        {"lag", sent.is_paced ? histogram_of(sent.window, 20'000, 50) : Json(nullptr)}};
}

inline Json ledger_of(std::uint64_t total) {
    return JsonObject{{"distinct", total},
                      {"duplicates", 0},
                      {"reordered", 0},
                      {"beyond", 0},
                      {"frontier", total},
                      {"lost_below_frontier", 0},
                      {"first_lost", JsonArray{}},
                      {"first_duplicates", JsonArray{}}};
}

inline Json receive_report(std::uint64_t total, std::uint64_t window, bool is_paced) {
    return JsonObject{{"total", total},
                      {"window", window},
                      {"drain", 0},
                      {"stray", 0},
                      {"damaged", 0},
                      {"first_damaged_bytes", nullptr},
                      {"impossible_latency", 0},
                      {"ledger", ledger_of(total)},
                      {"transit", histogram_of(window, 100'000, 10)},
                      {"since_due", is_paced ? histogram_of(window, 150'000, 50) : Json(nullptr)}};
}

inline Json use_of(std::uint64_t user_ns, std::uint64_t sys_ns) {
    return JsonObject{{"cpu_ns", user_ns + sys_ns},
                      {"cpu_user_ns", user_ns},
                      {"cpu_sys_ns", sys_ns},
                      {"rss_peak_kib", 9000},
                      {"rss_peak_sampled", false},
                      {"rss_kib", 8900},
                      {"threads", 3},
                      {"voluntary_switches", 6000},
                      {"involuntary_switches", 400},
                      {"span_ns", 8000 * kMillion},
                      {"unavailable", JsonObject{}}};
}

// The client's, of whom more is known.
inline Json client_use_of(std::uint64_t user_ns, std::uint64_t sys_ns) {
    Json use = use_of(user_ns, sys_ns);
    JsonObject& client = use.as_object();
    client["user_instructions"] = 3200 * kMillion;
    client["kernel_instructions"] = 800 * kMillion;
    client["user_cycles"] = 1600 * kMillion;
    client["kernel_cycles"] = 640 * kMillion;
    client["events_share"] = 1.0;
    client["tcp"] = JsonObject{{"connections", 1},         {"segments_out", 24'000},
                               {"segments_in", 16'000},    {"data_segments_out", 16'000},
                               {"data_segments_in", 8000}, {"bytes_out", 4'800'000},
                               {"bytes_in", 3'200'000},    {"retransmitted", 0}};
    client["system_calls"] =
        JsonObject{{"calls", 1000}, {"bytes", 100'000}, {"span_ns", 200 * kMillion}};
    return use;
}

struct Asked {
    const char* point;
    const char* kind;
    std::uint32_t qos = 0;
    double rate = 0; // 0: capacity, or idle
};

inline Json base_document(const Asked& asked) {
    const bool is_idle = std::string_view(asked.kind) == "idle";
    const JsonObject by_qos{{"qos0", "exact"}, {"qos1", "exact"}, {"qos2", "exact"}};
    return JsonObject{
        {"client_name", "paho-c"},
        {"point", asked.point},
        {"run", 1},
        {"attempt", 1},
        {"started_at", "2025-01-01T00:00:00Z"},
        {"spec", JsonObject{{"id", asked.point},
                            {"suite", "core"},
                            {"kind", asked.kind},
                            {"qos", asked.qos},
                            {"payload_bytes", JsonArray{256}},
                            {"rate", asked.rate > 0 ? Json(asked.rate) : Json(nullptr)},
                            {"capacity", asked.rate == 0 && !is_idle},
                            {"window", 64},
                            {"protocol", "3.1.1"},
                            {"tls", false},
                            {"pacing", "tick"},
                            {"keepalive_s", 60},
                            {"topic", "bench"},
                            {"topics", 1},
                            {"filters", 1},
                            {"topic_bytes", 21},
                            {"receive_maximum", nullptr},
                            {"topic_alias", false},
                            {"properties", JsonObject{{"content_type", nullptr},
                                                      {"response_topic", nullptr},
                                                      {"correlation_data", nullptr},
                                                      {"user", JsonArray{}}}},
                            {"question", "What is asked?"}}},
        {"receive_offer", nullptr},
        {"comparable", true},
        {"not_comparable_because", JsonArray{}},
        {"overhead_ns", 900 * kMillion},
        {"schedule", JsonObject{{"start_ns", 1000 * kMillion},
                                {"warmup_ns", 2000 * kMillion},
                                {"window_ns", 8000 * kMillion},
                                {"drain_ns", 2000 * kMillion}}},
        {"failure", nullptr},
        {"client", JsonObject{{"connect_ns", 1'500'000},
                              {"notes", JsonObject{{"library.version", "1.3.12"}}},
                              {"driver", JsonObject{{"id", "paho-c"},
                                                    {"library", "Eclipse Paho C"},
                                                    {"abi", "1.0"},
                                                    {"shape", 2},
                                                    {"qos0_completion", 2}}},
                              {"misuse", JsonArray{}},
                              {"tcp_nodelay", true},
                              {"report", JsonObject{{"send", nullptr},
                                                    {"receive", nullptr},
                                                    {"unexpected", 0},
                                                    {"misuse", JsonArray{}}}}}},
        {"peer", is_idle ? Json(nullptr)
                         : Json(JsonObject{
                               {"connected", JsonObject{{"tcp_nodelay", true}}},
                               {"report", JsonObject{{"send", nullptr}, {"receive", nullptr}}}})},
        {"broker", JsonObject{{"witness", JsonObject{{"publish_received", by_qos},
                                                     {"publish_sent", by_qos},
                                                     {"messages_received", "exact"},
                                                     {"messages_sent", "exact"},
                                                     {"reason", ""}}},
                              {"fresh", true},
                              {"control_packets", 0},
                              {"tcp_nodelay", true},
                              {"delta", JsonObject{{"publish_received", 0},
                                                   {"publish_sent", 0},
                                                   {"publish_dropped", 0},
                                                   {"messages_received", 0},
                                                   {"messages_sent", 0},
                                                   {"bytes_received", 0},
                                                   {"bytes_sent", 0}}},
                              {"unavailable", JsonObject{}}}},
        {"resources",
         JsonObject{
             {"client", client_use_of(1600 * kMillion, 800 * kMillion)},
             {"peer", use_of(400 * kMillion, 400 * kMillion)},
             {"broker", use_of(800 * kMillion, 800 * kMillion)},
             {"host", JsonObject{{"other_busy_cores", 0.08},
                                 {"kernel_busy_cores", 0.02},
                                 {"top", JsonArray{JsonObject{{"name", "sshd"}, {"cores", 0.05}}}},
                                 {"unavailable", JsonObject{}}}}}},
        {"log_tail", nullptr}};
}

// A place by its path, "peer.report.receive.window". It must be there.
inline Json& at(Json& document, std::string_view path) {
    Json* place = &document;
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t to = std::min(path.find('.', from), path.size());
        place = &place->as_object().at(path.substr(from, to - from));
        from = to + 1;
    }
    return *place;
}

inline void add(Json& document, std::string_view path, std::int64_t change) {
    Json& value = at(document, path);
    value = value.to_number<std::int64_t>() + change;
}

// 20,000 messages a run, 16,000 of them in the window: 2,000 a second where there is a rate.
constexpr std::uint64_t kTotal = 20'000;
constexpr std::uint64_t kWindow = 16'000;

// Packets of one message from its sender and from its receiver, by QoS (see verdict/accounts.cpp).
constexpr std::uint64_t kSenderPackets[] = {1, 1, 2};
constexpr std::uint64_t kReceiverPackets[] = {0, 1, 2};

inline void set_counters(Json& document, std::uint64_t messages, std::uint32_t qos) {
    at(document, "broker.delta.publish_received") = messages;
    at(document, "broker.delta.publish_sent") = messages;
    const std::uint64_t packets = messages * (kSenderPackets[qos] + kReceiverPackets[qos]);
    at(document, "broker.delta.messages_received") = packets;
    at(document, "broker.delta.messages_sent") = packets;
}

// The client publishes, the peer's sink receives.
inline Json pub_document(std::uint32_t qos = 1, double rate = 2000) {
    Json document = base_document({"pub_qos1_fixed", "pub", qos, rate});
    at(document, "client.report.send") =
        send_report({kTotal, kWindow, rate > 0, rate > 0 ? 9990u : 0u});
    at(document, "peer.report.receive") = receive_report(kTotal, kWindow, rate > 0);
    at(document, "peer.report.receive").as_object()["dup_flagged"] = 0;
    at(document, "peer.report.receive").as_object()["receive_maximum_exceeded"] = 0;
    set_counters(document, kTotal, qos);
    return document;
}

// The peer's source publishes, the client receives.
inline Json sub_document(std::uint32_t qos = 1, double rate = 2000) {
    Json document = base_document({"sub_qos1_fixed", "sub", qos, rate});
    at(document, "peer.report.send") = send_report({kTotal, kWindow, rate > 0, 9990});
    at(document, "client.report.receive") = receive_report(kTotal, kWindow, rate > 0);
    set_counters(document, kTotal, qos);
    return document;
}

// The client sends requests, the peer's echo sends them back.
inline Json rtt_document(std::uint32_t qos = 1) {
    Json document = base_document({"rtt_qos1_fixed", "rtt", qos, 2000});
    at(document, "client.report.send") = send_report({kTotal, kWindow, true, 9990});
    at(document, "client.report.receive") = receive_report(kTotal, kWindow, true);
    at(document, "peer.report.send") = send_report({kTotal, kWindow, false, 0});
    at(document, "peer.report.receive") = receive_report(kTotal, kWindow, true);
    at(document, "peer.report.receive").as_object()["receive_maximum_exceeded"] = 0;
    set_counters(document, 2 * kTotal, qos);
    return document;
}

// Both publish and receive at once, each 1,000 messages a second.
inline Json duplex_document() {
    Json document = base_document({"duplex_qos1_fixed", "duplex", 1, 1000});
    for (const std::string party : {"client", "peer"}) {
        at(document, party + ".report.send") = send_report({kTotal, kWindow, true, 9990});
        at(document, party + ".report.receive") = receive_report(kTotal, kWindow, true);
    }
    set_counters(document, 2 * kTotal, 1);
    return document;
}

// As it is without a broker: nothing was counted there.
inline Json direct(Json document) {
    at(document, "spec").as_object()["direct"] = true;
    at(document, "broker.fresh") = false;
    at(document, "broker.witness") = JsonObject{{"reason", "direct mode"}};
    for (auto& counter : at(document, "broker.delta").as_object())
        counter.value() = nullptr;
    return document;
}

// A publish point whose messages carry 31 bytes of properties.
inline Json properties_document() {
    Json document = pub_document();
    at(document, "spec.protocol") = "5";
    at(document, "spec.properties.content_type") = "application/json";
    at(document, "spec.properties.user") = JsonArray{JsonArray{"unit", "kelvin"}};
    at(document, "peer.report.receive").as_object()["with_properties"] = kTotal;
    return document;
}

// A publish point whose topic of 200 bytes is sent as an alias: 256 bytes of payload and 11 more.
inline Json alias_document() {
    Json document = pub_document();
    at(document, "spec.protocol") = "5";
    at(document, "spec.topic_alias") = true;
    at(document, "spec.topic_bytes") = 200;
    at(document, "broker.delta.bytes_received") = kTotal * (256 + 11 + 4);
    return document;
}

// A receive point with ten callbacks.
inline Json filters_document() {
    Json document = sub_document();
    at(document, "spec.topics") = 100;
    at(document, "spec.filters") = 10;
    at(document, "client.report.receive").as_object()["catch_all"] = 0;
    at(document, "client.report.receive").as_object()["misdirected"] = 0;
    return document;
}

inline Json idle_document() { return base_document({"idle_connect", "idle", 0, 0}); }

// A count by interval: two intervals of warm-up, eight of window and two of drain, even in each.
inline JsonArray spread_over_run(std::uint64_t total, std::uint64_t window, std::uint64_t drain) {
    JsonArray counts;
    const auto add_phase = [&](std::uint64_t sum, std::uint64_t intervals) {
        for (std::uint64_t i = 0; i < intervals; ++i)
            counts.emplace_back(sum * (i + 1) / intervals - sum * i / intervals);
    };
    add_phase(total - window - drain, 2);
    add_phase(window, 8);
    if (drain)
        add_phase(drain, 2); // a file leaves zeros at the end out
    return counts;
}

// The same run, recorded over time.
inline Json with_series(Json document) {
    const auto count_of = [](const Json& object, const char* key) {
        return support::unsigned_or(object, key, 0);
    };
    at(document, "schedule").as_object()["interval_ns"] = 1000 * kMillion;
    for (const char* party : {"client", "peer"}) {
        Json& place = document.as_object()[party];
        if (!place.is_object() || !at(place, "report").is_object())
            continue;
        if (Json& send = at(place, "report.send"); send.is_object())
            send.as_object()["series"] = JsonObject{
                {"sent", spread_over_run(count_of(send, "sent"), count_of(send, "sent_window"), 0)},
                {"completed", spread_over_run(count_of(send, "completed"),
                                              count_of(send, "completed_window"), 0)}};
        if (Json& receive = at(place, "report.receive"); receive.is_object()) {
            const bool is_paced = !at(receive, "since_due").is_null();
            const Json& latency = at(receive, is_paced ? "since_due" : "transit");
            JsonArray slowest;
            for (std::uint64_t interval = 0; interval < 10; ++interval)
                slowest.emplace_back(count_of(latency, "max_ns") / 1000 + 1 + 50 * interval);
            receive.as_object()["series"] = JsonObject{
                {"arrived", spread_over_run(count_of(receive, "total"), count_of(receive, "window"),
                                            count_of(receive, "drain"))},
                {is_paced ? "since_due_max_us" : "transit_max_us", std::move(slowest)}};
        }
    }
    const auto cpu_of = [&](const char* party) {
        const Json& use = document.as_object()["resources"].as_object()[party];
        const std::uint64_t window_us = count_of(use, "cpu_ns") / 1000;
        return spread_over_run(window_us + 1000, window_us, 0);
    };
    at(document, "resources").as_object()["series"] =
        JsonObject{{"late_us", JsonArray(11, 40)},
                   {"client_cpu_us", cpu_of("client")},
                   {"broker_cpu_us", cpu_of("broker")}};
    return document;
}

// `count` sequence numbers from 100 on never arrived at the receiver, though later ones did.
inline void lose(Json& document, std::string_view receiver, std::uint64_t count) {
    const std::string path(receiver);
    const auto lost = static_cast<std::int64_t>(count);
    add(document, path + ".total", -lost);
    add(document, path + ".window", -lost);
    add(document, path + ".ledger.distinct", -lost);
    add(document, path + ".ledger.lost_below_frontier", lost);
    JsonArray first;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, 8); ++i)
        first.emplace_back(100 + i);
    at(document, path + ".ledger.first_lost") = std::move(first);
}

// The last `count` messages had not arrived when the run ended.
inline void cut_tail(Json& document, std::string_view receiver, std::uint64_t count) {
    const std::string path(receiver);
    const auto open = static_cast<std::int64_t>(count);
    add(document, path + ".total", -open);
    add(document, path + ".ledger.distinct", -open);
    add(document, path + ".ledger.frontier", -open);
}

} // namespace mqcore::tests
