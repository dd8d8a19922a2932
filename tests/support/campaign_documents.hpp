#pragma once
// A small campaign as core/campaign writes it: three clients on four points, with a bit of everything
// that a table has to show. Made from the good runs of run_documents.hpp.

#include "run_documents.hpp"
#include "verdict/judge.hpp"

#include <string>
#include <vector>

namespace mqcore::tests {

struct CampaignDocuments {
    Json manifest;
    std::vector<Json> runs; // judged, in the order in which they ran
};

inline Json client_document(const char* id, const char* library, const char* shape,
                            JsonArray protocols) {
    return JsonObject{{"id", id},
                      {"library", library},
                      {"summary", "a client of the tests"},
                      {"package", ""},
                      {"claims", JsonObject{{"shape", shape},
                                            {"protocols", std::move(protocols)},
                                            {"publish_qos", JsonArray{0, 1, 2}},
                                            {"subscribe_qos", JsonArray{0, 1, 2}},
                                            {"features", JsonArray{"tls"}},
                                            {"max_window", 0},
                                            {"qos0_completion", "written"}}},
                      {"files", JsonObject{{"driver.toml", std::string(64, 'a')}}},
                      {"environment", nullptr},
                      {"options", JsonObject{}}};
}

inline Json spread_document(double best_ns, double median_ns) {
    return JsonObject{{"best_ns", best_ns}, {"median_ns", median_ns}};
}

inline Json manifest_document(JsonArray points) {
    return JsonObject{
        {"format", "mqcore-results/1"},
        {"id", "20250101T000000Z-core"},
        {"created", "2025-01-01T00:00:00Z"},
        {"state", "finished"},
        {"mqcore", JsonObject{{"version", "0.1.0"},
                              {"revision", "0123456789ab"},
                              {"programs", JsonObject{{"mqcore", std::string(64, 'b')}}}}},
        {"profile", JsonObject{{"name", "standard"},
                               {"warmup_ns", 2000 * kMillion},
                               {"window_ns", 8000 * kMillion},
                               {"drain_ns", 2000 * kMillion},
                               {"runs", 2}}},
        {"comparable", true},
        {"not_comparable_because", JsonArray{}},
        {"scenarios", JsonArray{JsonObject{{"suite", "core"},
                                           {"title", "Core points"},
                                           {"file", "core.toml"},
                                           {"sha256", std::string(64, 'c')}}}},
        {"points", std::move(points)},
        {"clients",
         JsonArray{client_document("gmqtt", "gmqtt", "nowait", {"3.1.1", "5"}),
                   client_document("paho", "Eclipse Paho Python", "sync", {"3.1.1", "5"}),
                   client_document("paho-c", "Eclipse Paho C", "nowait", {"3.1.1", "5"})}},
        {"refused",
         JsonArray{JsonObject{{"client", "gmqtt"},
                              {"point", "rtt_qos2_fixed"},
                              {"missing", JsonArray{"QoS 2 publish", "QoS 2 subscribe"}}}}},
        {"machine",
         JsonObject{{"cpu_model", "a processor"}, {"cores", 4}, {"unavailable", JsonObject{}}}},
        {"cores", JsonObject{{"cpus", JsonObject{{"broker", JsonArray{0}},
                                                 {"client", JsonArray{1}},
                                                 {"peer", JsonArray{2}},
                                                 {"orchestrator", JsonArray{3}}}},
                             {"shares_cores", false},
                             {"sharing", ""}}},
        {"broker", JsonObject{{"managed", true},
                              {"version", "2.0.11"},
                              {"config_sha256", std::string(64, 'd')},
                              {"binary_sha256", std::string(64, 'e')},
                              {"config", "persistence false\n"},
                              {"witness", nullptr}}},
        {"ceilings", JsonArray{JsonObject{{"qos", 0},
                                          {"protocol", "3.1.1"},
                                          {"payload_bytes", 256},
                                          {"rate", 160'000.0},
                                          {"receive_offer", 144'000.0}}}},
        {"acknowledgement", JsonObject{{"qos", 1},
                                       {"protocol", "3.1.1"},
                                       {"payload_bytes", 256},
                                       {"count", 23'310},
                                       {"mean_ns", 42'700.5},
                                       {"p50_ns", 40'447},
                                       {"p90_ns", 51'199},
                                       {"p99_ns", 88'063},
                                       {"p999_ns", 202'751},
                                       {"max_ns", 1'301'220}}},
        {"harness_floor",
         JsonObject{{"clock_read", spread_document(24, 25)},
                    {"stamp", spread_document(1.2, 1.3)},
                    {"rounds", 3},
                    {"rows", JsonArray{JsonObject{{"client", "null"},
                                                  {"clients", JsonArray{"paho-c"}},
                                                  {"host", nullptr},
                                                  {"shape", "sync"},
                                                  {"publish", spread_document(48.2, 49)},
                                                  {"publish_budget_ns", 50.0},
                                                  {"receive", spread_document(40, 44.5)},
                                                  {"receive_budget_ns", 50.0},
                                                  {"bare_loop", nullptr},
                                                  {"rss_peak_kib", 7100}},
                                       JsonObject{{"client", "python-null-nowait"},
                                                  {"clients", JsonArray{"gmqtt"}},
                                                  {"host", "python"},
                                                  {"shape", "nowait"},
                                                  {"publish", spread_document(151, 160)},
                                                  {"publish_budget_ns", 175.0},
                                                  {"receive", spread_document(92.5, 95)},
                                                  {"receive_budget_ns", 100.0},
                                                  {"bare_loop", spread_document(61, 64)},
                                                  {"rss_peak_kib", 19'800}}}},
                    {"unavailable",
                     JsonObject{{"paho", "'python-null' is not ready: it was never made"}}}}}};
}

// Gives a good run its place in the campaign.
inline Json placed(Json run, const char* client, const char* point, std::uint64_t number,
                   const char* question) {
    at(run, "client_name") = client;
    at(run, "client.driver.id") = client;
    at(run, "point") = point;
    at(run, "spec.id") = point;
    at(run, "spec.question") = question;
    at(run, "run") = number;
    return run;
}

// A second of the window in which nothing arrived, nobody read the CPU times, and the messages of which came in
// the next one.
inline void pause_in_fifth_second(Json& run) {
    constexpr std::size_t kPaused = 6; // two intervals of warm-up, four before it
    const auto move_on = [&](const std::string& path, const Json& rest) {
        JsonArray& list = at(run, path).as_array();
        list[kPaused + 1] =
            list[kPaused].to_number<std::uint64_t>() + list[kPaused + 1].to_number<std::uint64_t>();
        list[kPaused] = rest;
    };
    for (const char* list :
         {"client.report.send.series.sent", "client.report.send.series.completed",
          "peer.report.receive.series.arrived"})
        move_on(list, 0);
    at(run, "peer.report.receive.series.transit_max_us").as_array()[kPaused] = nullptr;
    at(run, "peer.report.receive.series.transit_max_us").as_array()[kPaused + 1] = 1'020'000;
    for (const char* list : {"resources.series.client_cpu_us", "resources.series.broker_cpu_us"})
        move_on(list, nullptr);
    at(run, "resources.series.late_us").as_array()[kPaused + 1] = nullptr;
}

inline CampaignDocuments campaign_documents() {
    const char* const kFast = "How many QoS 0 messages per second get out?";
    const char* const kFixed = "What does publishing cost at 2,000 messages per second?";
    const char* const kRound = "How long does a QoS 2 request wait for its answer?";
    const char* const kIdle = "What does an idle connection cost?";
    CampaignDocuments campaign;

    struct Capacity {
        const char* client;
        std::uint64_t rates[2];
        std::uint64_t broker_ms;
    };
    for (const Capacity& one :
         {Capacity{"gmqtt", {40'110, 39'870}, 2600}, Capacity{"paho", {11'702, 11'690}, 1400},
          Capacity{"paho-c", {151'204, 152'919}, 7300}})
        for (std::uint64_t number : {1u, 2u}) {
            Json run = placed(pub_document(0, 0), one.client, "pub_qos0_max", number, kFast);
            const std::uint64_t window = one.rates[number - 1] * 8;
            const std::uint64_t total = window * 5 / 4;
            at(run, "client.report.send") = send_report({total, window, false, 0});
            Json received = receive_report(total, window, false);
            received.as_object()["transit"] = histogram_of(2000, 100'000, 100);
            at(run, "peer.report.receive") = std::move(received);
            set_counters(run, total, 0);
            at(run, "resources.broker.cpu_ns") = one.broker_ms * kMillion;
            campaign.runs.push_back(std::move(run));
        }

    for (std::uint64_t number : {1u, 2u}) {
        Json good = placed(pub_document(), "gmqtt", "pub_qos1_fixed", number, kFixed);
        at(good, "resources.client") = client_use_of(4100 * kMillion, 900 * kMillion);
        campaign.runs.push_back(good);

        Json slow = placed(pub_document(), "paho", "pub_qos1_fixed", number, kFixed);
        at(slow, "client.report.send.sent_window") = 14'100;
        at(slow, "client.report.send.slept") = 0;
        campaign.runs.push_back(slow);

        Json native = placed(pub_document(), "paho-c", "pub_qos1_fixed", number, kFixed);
        at(native, "resources.client") = client_use_of(310 * kMillion, 290 * kMillion);
        if (number == 2)
            at(native, "resources.host.other_busy_cores") = 0.93;
        campaign.runs.push_back(native);
    }

    for (std::uint64_t number : {1u, 2u}) {
        Json died = placed(rtt_document(2), "paho", "rtt_qos2_fixed", number, kRound);
        at(died, "failure") =
            JsonObject{{"party", "client"},
                       {"phase", "driving"},
                       {"status", "killed"},
                       {"reason", "signal 11 (SIGSEGV) while 'driving' (window)"}};
        at(died, "client.report") = nullptr;
        at(died, "peer.report") = nullptr;
        at(died, "log_tail") = "[driver] going down\n";
        campaign.runs.push_back(died);

        Json blind = placed(rtt_document(2), "paho-c", "rtt_qos2_fixed", number, kRound);
        at(blind, "broker.witness.publish_received.qos2") = "blind";
        at(blind, "broker.delta.publish_received") = 0;
        at(blind, "client.report.receive.transit") = histogram_of(400, 900'000, 1000);
        at(blind, "resources.client.rss_peak_kib") = nullptr;
        at(blind, "resources.client.unavailable").as_object()["rss_peak_kib"] = "permission denied";
        campaign.runs.push_back(blind);
    }

    for (const char* client : {"gmqtt", "paho-c"})
        for (std::uint64_t number : {1u, 2u})
            campaign.runs.push_back(placed(idle_document(), client, "idle_connect", number, kIdle));

    JsonArray points;
    for (const Json& run : campaign.runs) {
        const Json& spec = run.as_object().at("spec");
        const bool is_new = std::none_of(points.begin(), points.end(), [&](const Json& point) {
            return point.as_object().at("id") == spec.as_object().at("id");
        });
        if (is_new)
            points.push_back(spec);
    }
    for (Json& run : campaign.runs) {
        run = with_series(std::move(run));
        if (at(run, "client_name") == "paho" && at(run, "point") == "pub_qos0_max" &&
            at(run, "run") == 2)
            pause_in_fifth_second(run);
    }
    campaign.manifest = manifest_document(std::move(points));
    const verdict::Context context = verdict::context_from_manifest(campaign.manifest);
    for (Json& run : campaign.runs)
        verdict::judge_into(run, context);
    return campaign;
}

// Three blocks of two points with a control: paho-c ahead of two that cannot be told apart, and a client
// that differs from itself in processor time.
inline CampaignDocuments control_campaign() {
    struct Client {
        const char* id;
        std::uint64_t rates[3];
        std::uint64_t cpu_ms[3];
    };
    CampaignDocuments campaign;
    for (const Client& client :
         {Client{"gmqtt", {40'110, 38'870, 41'020}, {2100, 2150, 2120}},
          Client{"paho", {40'702, 39'190, 40'100}, {2000, 2030, 2010}},
          Client{"paho-c", {90'204, 88'919, 91'000}, {600, 610, 605}},
          Client{"paho#control", {40'500, 39'300, 40'250}, {2200, 2230, 2215}}})
        for (const std::uint64_t number : {1u, 2u, 3u}) {
            Json fast = placed(pub_document(0, 0), client.id, "pub_qos0_max", number, "How many?");
            const std::uint64_t window = client.rates[number - 1] * 8;
            const std::uint64_t total = window * 5 / 4;
            at(fast, "client.report.send") = send_report({total, window, false, 0});
            at(fast, "peer.report.receive") = receive_report(total, window, false);
            at(fast, "peer.report.receive.transit") =
                histogram_of(2000, 100'000 + number * 1000, 100);
            set_counters(fast, total, 0);
            campaign.runs.push_back(std::move(fast));
            Json fixed = placed(pub_document(), client.id, "pub_qos1_fixed", number, "What cost?");
            const std::uint64_t cpu_ns = client.cpu_ms[number - 1] * kMillion;
            at(fixed, "resources.client") = client_use_of(cpu_ns / 2, cpu_ns / 2);
            campaign.runs.push_back(std::move(fixed));
        }
    campaign.manifest = manifest_document(
        {campaign.runs[0].as_object().at("spec"), campaign.runs[1].as_object().at("spec")});
    at(campaign.manifest, "profile.runs") = 3;
    at(campaign.manifest, "refused") = JsonArray{};
    Json control = client_document("paho#control", "Eclipse Paho Python", "sync", {"3.1.1", "5"});
    control.as_object()["control_of"] = "paho";
    at(campaign.manifest, "clients").as_array().push_back(std::move(control));
    const verdict::Context context = verdict::context_from_manifest(campaign.manifest);
    for (Json& run : campaign.runs)
        verdict::judge_into(run, context);
    return campaign;
}

} // namespace mqcore::tests
