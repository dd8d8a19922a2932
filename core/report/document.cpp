#include "report/document.hpp"

#include "report/table.hpp"
#include "verdict/comparison.hpp"
#include "verdict/context.hpp"
#include "verdict/limits.hpp"

#include <cmath>

namespace mqcore::report {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Cell;

constexpr std::string_view kDirections[] = {"higher", "lower", "none"};

constexpr verdict::Load kLoads[] = {verdict::Load::capacity, verdict::Load::fixed,
                                    verdict::Load::idle};

// What people choose a client by, on points of any kind; of each load's own, a place is given and a history
// is shown.
constexpr std::string_view kTellingMetrics[] = {
    "rate",           "cpu_us_per_message", "rss_peak_kib", "transit_p50_us",
    "transit_p99_us", "since_due_p99_us",   "connect_us"};

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// The clients of one point, with what the runs allow to be said of them.
struct PointCells {
    std::vector<const Cell*> cells;
    std::vector<verdict::ControlPair> controls;
    std::map<std::string_view, std::map<const Cell*, verdict::Rank>> ranks; // by metric
};

verdict::Load load_of(const Json& spec) {
    const verdict::Node point(&spec);
    return point.boolean("capacity").value_or(false) ? verdict::Load::capacity
           : point.number("rate")                    ? verdict::Load::fixed
                                                     : verdict::Load::idle;
}

// What each load shows alone: a rate is a client's own at capacity, a latency at a fixed rate.
std::vector<std::string_view> ranked_metrics(verdict::Load load) {
    std::vector<std::string_view> ids = metrics_shown(load);
    std::erase_if(ids, [](std::string_view id) {
        return std::ranges::find(kTellingMetrics, id) == std::end(kTellingMetrics);
    });
    return ids;
}

std::map<std::string, PointCells> by_point(const Json& manifest, std::span<const Cell> cells) {
    std::map<std::string, PointCells> points;
    for (const Cell& cell : cells)
        points[cell.point].cells.push_back(&cell);
    const std::vector<verdict::Control> controls = verdict::controls_in(manifest);
    for (auto& [id, point] : points) {
        point.controls = verdict::controls_among(point.cells, controls);
        for (const std::string_view metric : ranked_metrics(load_of(point.cells.front()->spec)))
            point.ranks[metric] = verdict::ranks_of(point.cells, metric, point.controls);
    }
    return points;
}

// Each A/A pair on each point: in how many metrics it was compared, and where it differs from itself.
JsonArray controls_json(const std::map<std::string, PointCells>& points) {
    JsonArray all;
    for (const auto& [id, point] : points)
        for (const auto& [client, control] : point.controls) {
            std::size_t compared = 0;
            JsonArray differs;
            for (const std::string_view metric : metrics_shown(load_of(client->spec))) {
                const verdict::Comparison self =
                    verdict::compare(*client, *control, metric, verdict::Pairing::blocks);
                compared += self.interval.has_value();
                if (verdict::is_told(self))
                    differs.push_back(JsonObject{
                        {"metric", metric},
                        {"ratio", *self.ratio},
                        {"interval", JsonArray{self.interval->low, self.interval->high}}});
            }
            all.push_back(JsonObject{{"point", id},
                                     {"client", client->client},
                                     {"control", control->client},
                                     {"compared", compared},
                                     {"differs", std::move(differs)}});
        }
    return all;
}

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

Json rounded(double value) { return std::round(value * 1000) / 1000; }

// Up to the schedule's end: what came later has no rate.
JsonObject series_json(const verdict::RunSeries& of_run) {
    const verdict::Series& series = of_run.series;
    const std::size_t size = series.intervals.size();
    JsonArray bounds, rates, slowest, client_cores;
    for (std::size_t bound = 0; bound <= size; ++bound)
        bounds.push_back(rounded(series.begin_s(bound)));
    for (const verdict::Number& cores : series.client_cores)
        client_cores.push_back(cores ? rounded(*cores) : Json(nullptr));
    for (std::size_t interval = 0; interval < size && !series.confirmed.empty(); ++interval) {
        const verdict::Count& count = series.confirmed[interval];
        rates.push_back(
            count ? Json(std::round(static_cast<double>(*count) / series.length_s(interval)))
                  : Json(nullptr));
    }
    for (std::size_t interval = 0; interval < size && !series.slowest_us.empty(); ++interval) {
        const verdict::Count& us = series.slowest_us[interval];
        slowest.push_back(us ? Json(*us) : Json(nullptr));
    }
    return {{"run", of_run.run},
            {"status", verdict::name_of(of_run.status)},
            {"bounds_s", std::move(bounds)},
            {"rate", std::move(rates)},
            {"latency", text_or_null(series.latency)},
            {"slowest_us", std::move(slowest)},
            {"client_cores", std::move(client_cores)}};
}

JsonObject metrics_json(const Cell& cell, const PointCells& point,
                        const verdict::Context& context) {
    JsonObject metrics;
    for (const auto& [id, metric] : cell.metrics)
        metrics[id] = metric_json(metric);
    for (const auto& [id, ranks] : point.ranks)
        if (const auto rank = ranks.find(&cell); rank != ranks.end())
            metrics[id].as_object()["place"] = JsonArray{rank->second.best, rank->second.worst};
    const verdict::Floor* floor = context.floor_of(cell.client);
    const auto kind = scenario::kind_of(support::text_or(cell.spec, "kind", ""));
    if (Json* cost = metrics.if_contains("cpu_us_per_message"); cost && floor && kind)
        cost->as_object()["floor"] = verdict::floor_of_message(*floor, *kind) * 1e-3;
    return metrics;
}

JsonObject cell_json(const Cell& cell, const PointCells& point, const verdict::Context& context,
                     JsonObject curves) {
    JsonObject by_status, flags;
    JsonArray series;
    for (const verdict::RunSeries& of_run : cell.series)
        series.push_back(series_json(of_run));
    for (const auto& [status, count] : cell.by_status)
        by_status[verdict::name_of(status)] = count;
    for (const auto& [id, runs] : cell.flags)
        flags[id] = JsonObject{{"runs", runs}, {"detail", cell.flag_details.at(id)}};
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
            {"metrics", metrics_json(cell, point, context)},
            {"curves", std::move(curves)},
            {"series", std::move(series)}};
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
    JsonObject columns;
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
    for (const verdict::Load load : kLoads) {
        JsonArray shown;
        for (const std::string_view id : metrics_shown(load))
            shown.push_back(Json(id));
        columns[verdict::name_of(load)] = std::move(shown);
    }
    return {{"statuses", std::move(statuses)},
            {"checks", std::move(checks)},
            {"flags", std::move(flags)},
            {"metrics", std::move(metrics)},
            {"columns", std::move(columns)},
            {"confidence", verdict::kConfidence},
            {"resamples", verdict::kResamples},
            {"runs_for_interval", verdict::kRunsForInterval},
            {"samples_behind", verdict::kSamplesBehind}};
}

JsonObject curves_of(const Cell& cell) {
    JsonObject curves;
    for (const auto& [name, histogram] : cell.histograms)
        curves[name] = curve_json(histogram);
    return curves;
}

JsonObject campaign_document(const Json& manifest, const Json& standing,
                             std::span<const Cell> cells) {
    std::vector<JsonObject> curves;
    for (const Cell& cell : cells)
        curves.push_back(curves_of(cell));
    return campaign_document(manifest, standing, cells, std::move(curves));
}

JsonObject campaign_document(const Json& manifest, const Json& standing,
                             std::span<const Cell> cells, std::vector<JsonObject> curves) {
    JsonObject words;
    if (const Json* list = support::find(manifest, "points"); list && list->is_array())
        for (const Json& point : list->get_array())
            words[support::text_or(point, "id", "")] = point_in_words(point);
    const std::map<std::string, PointCells> points = by_point(manifest, cells);
    const verdict::Context context = verdict::context_from_manifest(manifest);
    JsonArray all;
    for (std::size_t i = 0; i < cells.size(); ++i)
        all.push_back(
            cell_json(cells[i], points.at(cells[i].point), context, std::move(curves[i])));
    return {{"format", kReportFormat},
            {"manifest", manifest},
            {"standing", standing},
            {"points_in_words", std::move(words)},
            {"controls", controls_json(points)},
            {"cells", std::move(all)}};
}

JsonObject campaign_summary(const Json& manifest, std::span<const Cell> cells) {
    JsonArray all;
    for (const Cell& cell : cells) {
        JsonObject metrics;
        for (const std::string_view id : ranked_metrics(load_of(cell.spec)))
            if (const auto found = cell.metrics.find(std::string(id));
                found != cell.metrics.end() && found->second.value) {
                JsonArray value{*found->second.value};
                if (const auto interval = verdict::interval_of(found->second))
                    value.insert(value.end(), {interval->low, interval->high});
                metrics[id] = std::move(value);
            }
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
