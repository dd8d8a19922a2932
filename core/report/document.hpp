#pragma once
// One campaign as one JSON document: the manifest and the cells with their latency curves; and the verdict
// table that explains them. The site's pages and `mqcore show --format json` are made of both;
// docs/results.md describes them. Pure functions from data to data.

#include "support/json.hpp"
#include "verdict/cell.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mqcore::report {

constexpr std::string_view kReportFormat = "mqcore-report/1";

// One step of a percentile curve: `count` values are `value_ns` or smaller.
struct PercentileStep {
    double quantile = 0; // 0 to 1
    std::uint64_t value_ns = 0;
    std::uint64_t count = 0;
};

// Steps that halve the distance to 100 % every `kStepsPerHalving`, as HdrHistogram prints them; the last
// is the maximum at 1. Empty: no value.
constexpr unsigned kStepsPerHalving = 5;
std::vector<PercentileStep> percentile_curve(const measure::Histogram& histogram);

// `standing`: as campaign::read_standing() gives it.
support::JsonObject campaign_document(const support::Json& manifest, const support::Json& standing,
                                      std::span<const verdict::Cell> cells);

// The same where `cells` keep no histograms, of which each takes 18 KB: their curves, in the same order.
support::JsonObject curves_of(const verdict::Cell& cell);
support::JsonObject campaign_document(const support::Json& manifest, const support::Json& standing,
                                      std::span<const verdict::Cell> cells,
                                      std::vector<support::JsonObject> curves);

// What a history needs of a campaign: who, when, and each cell's most telling metrics, as [value] or
// [value, low, high] with an interval.
support::JsonObject campaign_summary(const support::Json& manifest,
                                     std::span<const verdict::Cell> cells);

// Statuses, checks, flags and metrics of the verdict table, and which metrics a table of each load shows.
support::JsonObject methodology_document();

} // namespace mqcore::report
