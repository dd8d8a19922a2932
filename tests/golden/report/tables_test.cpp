// The terminal's tables, to the byte, and the results folder of the same campaign, which the schema of
// the result format is tested with (tests/integration/results_schema_test.py).

#include "report/cells.hpp"
#include "report/comparison.hpp"
#include "report/consumers.hpp"
#include "report/selection.hpp"
#include "report/table.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

namespace {

using namespace mqcore;
using namespace mqcore::tests;

const std::filesystem::path kFolder = mqcore::tests::source_folder() / "tests/golden/report";

std::string table_of(const CampaignDocuments& campaign, const report::TableStyle& style) {
    return report::campaign_table(campaign.manifest, verdict::cells_of(campaign.runs), style);
}

campaign::StoredCampaign stored(CampaignDocuments documents) {
    campaign::StoredCampaign campaign;
    campaign.manifest = std::move(documents.manifest);
    campaign.runs = std::move(documents.runs);
    return campaign;
}

scenario::Point point(const char* id, scenario::Kind kind, std::uint32_t qos,
                      const char* question) {
    scenario::Point made{.id = id};
    made.kind = kind;
    made.qos = qos;
    made.question = question;
    return made;
}

std::vector<scenario::Point> points() {
    std::vector<scenario::Point> all = {
        point("pub_qos0_max", scenario::Kind::pub, 0, "How many get out?"),
        point("pub_qos1_max", scenario::Kind::pub, 1, "How many complete?"),
        point("rtt_qos1_fixed", scenario::Kind::rtt, 1, "请求要等多久?"),
        point("idle_connect", scenario::Kind::idle, 0, "What does idling cost?")};
    all[0].is_capacity = true;
    all[1].is_capacity = true;
    all[1].payload_bytes = 16384;
    all[2].rate = 1000;
    all[2].has_tls = true;
    all[2].protocol = measure::Protocol::v5;
    return all;
}

driver::Descriptor client(const char* id, const char* library, std::uint32_t shape) {
    driver::Descriptor made{.id = id, .library = library};
    made.claims = {.shape = shape,
                   .protocols = MQCORE_V311 | MQCORE_V5,
                   .publish_qos = MQCORE_QOS0 | MQCORE_QOS1,
                   .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
                   .features = MQCORE_FEATURE_TLS | MQCORE_FEATURE_RECEIVE_MAXIMUM,
                   .max_window = 0,
                   .qos0_completion = MQCORE_QOS0_WRITTEN};
    return made;
}

} // namespace

TEST_CASE("a campaign's table on a terminal") {
    check_golden(kFolder / "campaign.txt", table_of(campaign_documents(), {}));
}

TEST_CASE("a campaign's table in colour") {
    check_golden(kFolder / "campaign-colour.txt",
                 table_of(campaign_documents(), {.use_colour = true}));
}

TEST_CASE("a campaign's table as Markdown") {
    check_golden(kFolder / "campaign.md",
                 table_of(campaign_documents(), {.format = report::Format::markdown}));
}

TEST_CASE("a campaign that is not comparable and was interrupted says so first") {
    CampaignDocuments campaign = campaign_documents();
    at(campaign.manifest, "comparable") = false;
    at(campaign.manifest, "not_comparable_because") =
        JsonArray{"profile smoke", "2 physical cores, a comparable run needs 4"};
    at(campaign.manifest, "state") = "interrupted";
    campaign.runs.resize(4);
    check_golden(kFolder / "campaign-interrupted.txt", table_of(campaign, {}));
}

TEST_CASE("a campaign with blocks enough has intervals, shared places and an A/A pair") {
    const CampaignDocuments campaign = control_campaign();
    check_golden(kFolder / "campaign-control.txt", table_of(campaign, {}));
    check_golden(kFolder / "campaign-control.json",
                 support::print_json_pretty(report::campaign_json(
                     campaign.manifest, nullptr, verdict::cells_of(campaign.runs))));
}

TEST_CASE("clients of one campaign compared") {
    const auto comparison = campaign::compare_clients(
        stored(control_campaign()), {.clients = {"paho", "gmqtt", "paho-c"},
                                     .metrics = {"rate", "cpu_us_per_message", "transit_p99_us"}});
    REQUIRE(comparison);
    check_golden(kFolder / "comparison.txt", report::comparison_table(*comparison, {}));
    check_golden(kFolder / "comparison.md",
                 report::comparison_table(*comparison, {.format = report::Format::markdown}));
    check_golden(kFolder / "comparison.csv", report::comparison_csv(*comparison));
    check_golden(kFolder / "comparison.json",
                 support::print_json_pretty(report::comparison_json(*comparison)));
}

TEST_CASE("who consumed what behind the runs that failed") {
    check_golden(kFolder / "consumers.txt", report::consumers_text(campaign_documents().runs, {}));
    CHECK(report::consumers_text(control_campaign().runs, {}).empty());
}

TEST_CASE("a campaign that was taken back says so, and why") {
    const Json standing = JsonObject{{"standing", "retracted"},
                                     {"reason", "the broker's core was shared"},
                                     {"at", "2025-01-02T00:00:00Z"}};
    CHECK(report::standing_text(standing, {}) ==
          "RETRACTED:\n  the broker's core was shared (2025-01-02T00:00:00Z)\n");
    CHECK(report::standing_text(nullptr, {}).empty());
}

TEST_CASE("one point with its plots, best memory first") {
    CampaignDocuments campaign = campaign_documents();
    REQUIRE(report::select(campaign.manifest, {.points = {"rtt_qos2_fixed"}, .clients = {}}));
    check_golden(kFolder / "point.txt",
                 table_of(campaign, {.sort = "rss_peak_kib", .has_plots = true}));
    campaign = campaign_documents();
    REQUIRE(report::select(campaign.manifest,
                           {.points = {"pub_qos0_max"}, .clients = {"gmqtt", "paho"}}));
    check_golden(kFolder / "point-capacity.txt", table_of(campaign, {.has_plots = true}));
}

TEST_CASE("points and refused pairs of mqcore list") {
    const std::vector<report::RefusedPair> refused = {
        {"amqtt", "rtt_qos1_fixed", {"MQTT 5", "TLS"}}};
    check_golden(kFolder / "points.txt", report::points_table(points(), refused, {}));
    check_golden(kFolder / "points.md",
                 report::points_table(points(), {}, {.format = report::Format::markdown}));
}

TEST_CASE("clients of mqcore clients") {
    std::vector<driver::Descriptor> clients = {
        client("paho-c", "Eclipse Paho C", MQCORE_SHAPE_NOWAIT),
        client("paho", "Eclipse Paho Python", MQCORE_SHAPE_SYNC)};
    clients[1].variants = {
        {.name = "thread", .summary = "the library's own thread", .options = {}}};
    check_golden(kFolder / "clients.txt",
                 report::clients_table(clients, {{"paho-c", "1.3.12"}}, {}));
}

TEST_CASE("the results folder of the tests is what the judge makes of its runs") {
    const CampaignDocuments campaign = campaign_documents();
    check_golden(kFolder / "results/manifest.json", support::print_json_pretty(campaign.manifest));
    for (const char* name : {"gmqtt", "paho", "paho-c"}) {
        JsonArray runs;
        for (const Json& run : campaign.runs)
            if (run.as_object().at("client_name") == name)
                runs.push_back(run);
        check_golden(kFolder / "results" / (std::string(name) + ".json"),
                     support::print_json_pretty(JsonObject{{"format", "mqcore-results/1"},
                                                           {"client", name},
                                                           {"runs", std::move(runs)}}));
    }
}
