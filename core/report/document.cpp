#include "report/document.hpp"

#include "report/table.hpp"
#include "verdict/limits.hpp"

#include <cmath>

namespace mqcore::report {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Cell;

constexpr std::string_view kDirections[] = {"higher", "lower", "none"};

// What a history shows, of points of any kind.
constexpr std::string_view kTellingMetrics[] = {
    "rate",           "cpu_us_per_message", "rss_peak_kib", "transit_p50_us",
    "transit_p99_us", "since_due_p99_us",   "connect_us"};

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

JsonObject metric_json(const verdict::CellMetric& metric) {
    if (!metric.value)
        return {{"value", nullptr}, {"unavailable", metric.unavailable}};
    JsonObject object{{"value", *metric.value}};
    if (const auto range = verdict::range_of(metric); range && range->low != range->high) {
        object["lowest"] = range->low;
        object["highest"] = range->high;
    }
    if (const auto interval = verdict::interval_of(metric))
        object["interval"] = JsonArray{interval->low, interval->high};
    if (metric.samples)
        object["samples"] = *metric.samples;
    return object;
}

JsonObject curve_json(const measure::Histogram& histogram) {
    JsonArray steps;
    for (const PercentileStep& step : percentile_curve(histogram))
        steps.push_back(JsonArray{step.quantile, step.value_ns});
    return {{"count", histogram.count()},
            {"too_large", histogram.too_large()},
            {"mean_ns", std::round(histogram.mean().value_or(0))},
            {"steps", std::move(steps)}};
}

JsonObject cell_json(const Cell& cell) {
    JsonObject by_status, flags, metrics, curves;
    for (const auto& [status, count] : cell.by_status)
        by_status[verdict::name_of(status)] = count;
    for (const auto& [id, runs] : cell.flags)
        flags[id] = JsonObject{{"runs", runs}, {"detail", cell.flag_details.at(id)}};
    for (const auto& [id, metric] : cell.metrics)
        metrics[id] = metric_json(metric);
    for (const auto& [name, histogram] : cell.histograms)
        curves[name] = curve_json(histogram);
    return {{"client", cell.client},
            {"point", cell.point},
            {"status", verdict::name_of(cell.status)},
            {"reason", text_or_null(cell.reason)},
            {"party", text_or_null(cell.party)},
            {"library_version", text_or_null(cell.library_version)},
            {"runs", cell.runs},
            {"valid_runs", cell.valid_runs},
            {"by_status", std::move(by_status)},
            {"regime", text_or_null(cell.regime)},
            {"flags", std::move(flags)},
            {"metrics", std::move(metrics)},
            {"curves", std::move(curves)}};
}

template <class Entry>
JsonObject entry_json(const Entry& entry) {
    return {{"id", entry.id},
            {"title", entry.title},
            {"says", entry.says},
            {"computed", entry.computed},
            {"applies_to", verdict::in_words(entry.scope)}};
}

} // namespace

std::vector<PercentileStep> percentile_curve(const measure::Histogram& histogram) {
    std::vector<PercentileStep> steps;
    double percentile = 0;
    std::uint64_t seen = 0;
    std::uint64_t value = 0;
    std::size_t bucket = 0;
    const std::uint64_t largest = histogram.max().value_or(0);
    while (histogram.count() > 0) {
        const auto wanted = static_cast<std::uint64_t>(
            std::ceil(percentile / 100 * static_cast<double>(histogram.count()) - 1e-9));
        for (; seen < std::max<std::uint64_t>(wanted, 1); ++bucket) {
            seen += histogram.bucket_count(bucket);
            value = std::min(measure::Histogram::highest_of(bucket), largest);
        }
        if (seen == histogram.count())
            break;
        steps.push_back({percentile / 100, value, seen});
        const double halvings = std::floor(std::log2(100 / (100 - percentile))) + 1;
        percentile += 100 / (kStepsPerHalving * std::exp2(halvings));
    }
    if (histogram.count() > 0)
        steps.push_back({1, largest, histogram.count()});
    return steps;
}

JsonObject methodology_document() {
    JsonArray statuses, checks, flags, metrics;
    for (const verdict::StatusEntry& entry : verdict::statuses())
        statuses.push_back(
            JsonObject{{"id", verdict::name_of(entry.status)}, {"says", entry.says}});
    for (const verdict::CheckEntry& entry : verdict::checks())
        checks.push_back(entry_json(entry));
    for (const verdict::FlagEntry& entry : verdict::flags())
        flags.push_back(entry_json(entry));
    for (const verdict::MetricEntry& entry : verdict::metrics()) {
        JsonObject metric = entry_json(entry);
        metric["unit"] = verdict::symbol_of(entry.unit);
        metric["direction"] = kDirections[static_cast<std::size_t>(entry.direction)];
        metric["histogram"] = text_or_null(entry.histogram);
        metric["quantile"] = entry.histogram.empty() ? Json(nullptr) : Json(entry.quantile);
        metrics.push_back(std::move(metric));
    }
    return {{"statuses", std::move(statuses)},
            {"checks", std::move(checks)},
            {"flags", std::move(flags)},
            {"metrics", std::move(metrics)},
            {"samples_behind", verdict::kSamplesBehind}};
}

JsonObject campaign_document(const Json& manifest, std::span<const Cell> cells) {
    JsonObject points;
    if (const Json* list = support::find(manifest, "points"); list && list->is_array())
        for (const Json& point : list->get_array())
            points[support::text_or(point, "id", "")] = point_in_words(point);
    JsonArray all;
    for (const Cell& cell : cells)
        all.push_back(cell_json(cell));
    return {{"format", kReportFormat},
            {"manifest", manifest},
            {"points_in_words", std::move(points)},
            {"cells", std::move(all)}};
}

JsonObject campaign_summary(const Json& manifest, std::span<const Cell> cells) {
    JsonArray all;
    for (const Cell& cell : cells) {
        JsonObject metrics;
        for (const std::string_view id : kTellingMetrics)
            if (const auto found = cell.metrics.find(std::string(id));
                found != cell.metrics.end() && found->second.value)
                metrics[id] = *found->second.value;
        all.push_back(JsonObject{{"client", cell.client},
                                 {"point", cell.point},
                                 {"status", verdict::name_of(cell.status)},
                                 {"metrics", std::move(metrics)}});
    }
    JsonObject summary;
    for (const char* key : {"id", "created", "state", "comparable", "not_comparable_because"})
        if (const Json* value = support::find(manifest, key))
            summary[key] = *value;
    summary["cells"] = std::move(all);
    return summary;
}

} // namespace mqcore::report
