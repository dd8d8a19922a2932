#include "verdict/cell.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>
#include <set>

namespace mqcore::verdict {
namespace {

using support::Json;

// The attempts of one planned run; the last one counts, the others stay in the file.
struct Attempts {
    std::uint64_t run = 0;
    const Json* last = nullptr;
    std::uint64_t attempt = 0;
};

std::vector<const Json*> last_attempts(std::span<const Json> runs) {
    std::vector<Attempts> planned;
    for (const Json& document : runs) {
        const std::uint64_t run = support::unsigned_or(document, "run", 0);
        const std::uint64_t attempt = support::unsigned_or(document, "attempt", 1);
        auto found = std::ranges::find(planned, run, &Attempts::run);
        if (found == planned.end())
            found = planned.insert(planned.end(), {run, &document, attempt});
        else if (attempt >= found->attempt)
            *found = {run, &document, attempt};
    }
    std::vector<const Json*> documents;
    for (const Attempts& attempts : planned)
        documents.push_back(attempts.last);
    return documents;
}

Status status_in(const Json& run) {
    return status_of(support::text_or(run, "status", "")).value_or(Status::invalid);
}

// Every histogram that metrics of the point are taken from.
void merge_histograms(Cell& cell, std::span<const Json* const> valid) {
    std::set<std::string> names;
    const RunView first(*valid.front());
    for (const MetricEntry& entry : metrics())
        if (!entry.histogram.empty() && entry.scope.covers(first))
            names.insert(entry.histogram);
    for (const Json* document : valid) {
        const RunView run(*document);
        for (const std::string& name : names)
            if (const auto histogram = histogram_of(run, name))
                cell.histograms[name].merge(*histogram);
    }
}

CellMetric aggregate_metric(const Cell& cell, std::span<const Json* const> valid,
                            const MetricEntry& entry) {
    CellMetric metric;
    std::vector<double> values;
    for (const Json* document : valid) {
        const Node run(document);
        if (const Number value = run["metrics"].number(entry.id)) {
            metric.by_run[run.count("run").value_or(0)] = *value;
            values.push_back(*value);
        } else if (metric.unavailable.empty())
            metric.unavailable = run["metrics_unavailable"].text(entry.id);
    }
    if (values.empty())
        return metric;
    metric.unavailable.clear();
    metric.value = median_of(values);
    if (const auto found = cell.histograms.find(entry.histogram); found != cell.histograms.end()) {
        const measure::Histogram& all = found->second;
        metric.samples = all.count();
        const auto at = entry.quantile >= 1 ? all.max() : all.quantile(entry.quantile);
        metric.value = static_cast<double>(*at) * 1e-3;
    }
    return metric;
}

void add_flags(Cell& cell, const Json& run) {
    const Node flags = Node(&run)["flags"];
    if (!flags || !flags.json()->is_array())
        return;
    for (const Json& item : flags.json()->get_array()) {
        const Node flag(&item);
        if (++cell.flags[flag.text("id")] == 1)
            cell.flag_details[flag.text("id")] = flag.text("detail");
    }
}

// Every metric of the table that the point has.
void add_metrics(Cell& cell, std::span<const Json* const> valid) {
    if (valid.empty())
        return;
    merge_histograms(cell, valid);
    const RunView run(*valid.front());
    for (const MetricEntry& entry : metrics())
        if (entry.scope.covers(run))
            cell.metrics[entry.id] = aggregate_metric(cell, valid, entry);
}

void add_series(Cell& cell, const Json& document) {
    const Status status = status_in(document);
    if (status != Status::valid && status != Status::not_sustained)
        return;
    if (auto series = series_of(RunView(document)))
        cell.series.push_back({.run = support::unsigned_or(document, "run", 0),
                               .status = status,
                               .series = std::move(*series)});
}

} // namespace

std::optional<Interval> range_of(const CellMetric& metric) {
    if (metric.by_run.empty())
        return std::nullopt;
    const auto [low, high] = std::ranges::minmax(metric.by_run | std::views::values);
    return Interval{.low = low, .high = high};
}

std::optional<Interval> interval_of(const CellMetric& metric) {
    std::vector<double> values;
    for (const auto& [run, value] : metric.by_run)
        values.push_back(value);
    const auto interval = interval_of_median(values);
    if (!interval)
        return std::nullopt;
    return Interval{.low = std::max(0., std::min(interval->low, *metric.value)),
                    .high = std::max(interval->high, *metric.value)};
}

Cell aggregate(std::span<const Json> runs) {
    Cell cell;
    const std::vector<const Json*> documents = last_attempts(runs);
    std::vector<const Json*> valid;
    for (const Json* document : documents) {
        const Status status = status_in(*document);
        ++cell.by_status[status];
        if (status == Status::valid)
            valid.push_back(document);
    }
    cell.runs = documents.size();
    cell.valid_runs = valid.size();
    cell.status = !valid.empty()                                   ? Status::valid
                  : cell.by_status.contains(Status::not_sustained) ? Status::not_sustained
                  : cell.by_status.contains(Status::unsupported)   ? Status::unsupported
                                                                   : Status::invalid;
    for (const Json* document : documents) {
        const Node run(document);
        if (cell.client.empty()) {
            cell.client = run.text("client_name");
            cell.point = run.text("point");
            cell.spec = run["spec"] ? *run["spec"].json() : Json(nullptr);
        }
        if (cell.library_version.empty())
            cell.library_version = run["client"]["notes"].text("library.version");
        if (cell.status != Status::valid && status_in(*document) == cell.status &&
            cell.reason.empty()) {
            cell.reason = run.text("reason");
            cell.party = run.text("party");
        }
        for (const std::string& why : run.texts("not_comparable_because"))
            if (std::ranges::find(cell.not_comparable_because, why) ==
                cell.not_comparable_because.end())
                cell.not_comparable_because.push_back(why);
        add_series(cell, *document);
    }
    for (const Json* document : valid) {
        add_flags(cell, *document);
        const std::string regime = Node(document).text("regime");
        cell.regime = cell.regime.empty() || cell.regime == regime ? regime : "differs";
    }
    add_metrics(cell, valid);
    return cell;
}

std::vector<Cell> cells_of(std::span<const Json> runs) {
    std::vector<std::pair<std::string, std::vector<Json>>> groups;
    for (const Json& run : runs) {
        const std::string key =
            support::text_or(run, "point", "") + '\n' + support::text_or(run, "client_name", "");
        auto found = std::ranges::find(groups, key, [](const auto& group) { return group.first; });
        if (found == groups.end())
            found = groups.insert(groups.end(), {key, {}});
        found->second.push_back(run);
    }
    std::vector<Cell> cells;
    for (const auto& [key, documents] : groups)
        cells.push_back(aggregate(documents));
    return cells;
}

} // namespace mqcore::verdict
