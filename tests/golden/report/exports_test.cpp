// What other programs read of a campaign, to the byte.

#include "report/cells.hpp"
#include "report/document.hpp"
#include "report/export.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

namespace {

using namespace mqcore;
using namespace mqcore::tests;
using verdict::Node;

const std::filesystem::path kFolder =
    mqcore::tests::source_folder() / "tests/golden/report/exports";

struct Exported {
    CampaignDocuments campaign = campaign_documents();
    std::vector<verdict::Cell> cells = verdict::cells_of(campaign.runs);
};

} // namespace

TEST_CASE("the document of a campaign holds its cells, curves and points in words") {
    const Exported made;
    Json document = report::campaign_document(made.campaign.manifest, nullptr, made.cells);
    // The manifest is copied as it is and the table has golden copies of its own.
    CHECK(document.at("manifest") == made.campaign.manifest);
    const Json methodology = report::methodology_document();
    CHECK(methodology.at("checks").as_array().size() == verdict::checks().size());
    CHECK(methodology.at("flags").as_array().size() == verdict::flags().size());
    CHECK(methodology.at("metrics").as_array().size() == verdict::metrics().size());
    for (const Json& metric : methodology.at("metrics").as_array())
        CHECK_FALSE(metric.at("says").as_string().empty());
    document.as_object().erase("manifest");
    check_golden(kFolder / "document.json", support::print_json_pretty(document));
}

TEST_CASE("the document gives the places that the terminal shows, and where a client differs from "
          "itself") {
    const CampaignDocuments campaign = control_campaign();
    const std::vector<verdict::Cell> cells = verdict::cells_of(campaign.runs);
    const Json shown = report::campaign_json(campaign.manifest, nullptr, cells);
    const Json document = report::campaign_document(campaign.manifest, nullptr, cells);
    std::size_t places = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Json& rank = shown.at("cells").at(i).at("rank");
        const Json& metrics = document.at("cells").at(i).at("metrics");
        const Json* place = support::find(metrics.at("rate"), "place");
        CHECK((place ? *place : Json(nullptr)) == rank);
        places += place != nullptr;
        const bool is_control = cells[i].client == "paho#control";
        CHECK(is_control != (support::find(metrics.at("cpu_us_per_message"), "place") != nullptr));
    }
    CHECK(places == 3); // at capacity; at a fixed rate the rate is nobody's merit
    const Json& controls = document.at("controls");
    REQUIRE(controls.as_array().size() == 2);
    CHECK(controls.at(0).at("differs").as_array().empty());
    CHECK(controls.at(1).at("differs").at(0).at("metric") == "cpu_us_per_message");
    CHECK(controls.at(1).at("differs").at(0).at("ratio").as_double() > 1.08);
}

TEST_CASE("mqcore's own cost stands beside the processor time that it is part of") {
    const Exported made;
    const Json document = report::campaign_document(made.campaign.manifest, nullptr, made.cells);
    const auto floor_of = [&](std::string_view client, std::string_view point) {
        for (const Json& cell : document.at("cells").as_array())
            if (cell.at("client").as_string() == client && cell.at("point").as_string() == point)
                return support::find(cell.at("metrics").at("cpu_us_per_message"), "floor");
        return static_cast<const Json*>(nullptr);
    };
    REQUIRE(floor_of("paho-c", "pub_qos1_fixed"));
    CHECK(floor_of("paho-c", "pub_qos1_fixed")->as_double() == Approx(0.0482));
    REQUIRE(floor_of("paho-c", "rtt_qos2_fixed"));
    CHECK(floor_of("paho-c", "rtt_qos2_fixed")->as_double() == Approx(0.0882));
    CHECK_FALSE(floor_of("paho", "pub_qos0_max")); // it was not measured
}

TEST_CASE("a history's summary of a campaign") {
    const Exported made;
    check_golden(kFolder / "summary.json", support::print_json_pretty(report::campaign_summary(
                                               made.campaign.manifest, made.cells)));
}

TEST_CASE("one row a cell and one row a run") {
    const Exported made;
    check_golden(kFolder / "cells.csv", report::cells_csv(made.campaign.manifest, made.cells));
    check_golden(kFolder / "runs.csv",
                 report::runs_csv_header() +
                     report::runs_csv(made.campaign.manifest, made.campaign.runs));
}

TEST_CASE("one row an interval of each run that was recorded over time") {
    const Exported made;
    std::vector<Json> runs; // one of each kind is enough to read
    for (const Json& run : made.campaign.runs)
        if (const Node node(&run); node.text("client_name") != "gmqtt" && node.count("run") == 2)
            runs.push_back(run);
    check_golden(kFolder / "series.csv",
                 report::series_csv_header() + report::series_csv(made.campaign.manifest, runs));
    for (Json& run : runs)
        at(run, "schedule").as_object().erase("interval_ns");
    CHECK(report::series_csv(made.campaign.manifest, runs).empty());
}

TEST_CASE("OpenMetrics text in base units") {
    const Exported made;
    check_golden(kFolder / "openmetrics.txt",
                 report::openmetrics(made.campaign.manifest, made.cells));
}

TEST_CASE("continuous-benchmark JSON holds the valid cells' metrics of one direction") {
    const Exported made;
    const auto print = [&](verdict::Direction direction) {
        return support::print_json_pretty(
            report::benchmark_json(made.campaign.manifest, made.cells, direction));
    };
    check_golden(kFolder / "benchmark-bigger.json", print(verdict::Direction::higher));
    check_golden(kFolder / "benchmark-smaller.json", print(verdict::Direction::lower));
}

TEST_CASE("HdrHistogram's percentile text") {
    measure::Histogram histogram;
    for (std::uint64_t us = 1; us <= 1000; ++us)
        histogram.record(us * 1000);
    check_golden(kFolder / "hdr.txt", report::hdr_text(histogram));
    check_golden(kFolder / "hdr-empty.txt", report::hdr_text({}));
}
