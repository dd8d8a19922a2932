// What other programs read of a campaign, to the byte.

#include "report/document.hpp"
#include "report/export.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

namespace {

using namespace mqcore;
using namespace mqcore::tests;

const std::filesystem::path kFolder =
    mqcore::tests::source_folder() / "tests/golden/report/exports";

struct Exported {
    CampaignDocuments campaign = campaign_documents();
    std::vector<verdict::Cell> cells = verdict::cells_of(campaign.runs);
};

} // namespace

TEST_CASE("the document of a campaign holds its cells, curves and points in words") {
    const Exported made;
    Json document = report::campaign_document(made.campaign.manifest, made.cells);
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
