#include "verdict/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

const CellMetric* metric_in(const Cell& cell, std::string_view id) {
    const auto found = cell.metrics.find(std::string(id));
    return found == cell.metrics.end() ? nullptr : &found->second;
}

// Why the two cells do not compare at all; empty: they do.
std::string obstacle(const Cell& first, const Cell& second, std::string_view id) {
    for (const Cell* cell : {&first, &second}) {
        if (cell->status != Status::valid)
            return fmt::format("{} is {}", cell->client, name_of(cell->status));
        const CellMetric* metric = metric_in(*cell, id);
        if (!metric)
            return fmt::format("{} has no such value", cell->client);
        if (!metric->value)
            return fmt::format("{}: {}", cell->client, metric->unavailable);
    }
    if (first.regime != second.regime || first.regime == "differs")
        return fmt::format("pacing regimes differ: {} and {}", first.regime, second.regime);
    return {};
}

// Logarithms of the values that have one; false: some had not.
bool add_log(std::vector<double>& logs, double value) {
    if (value > 0)
        logs.push_back(std::log(value));
    return value > 0;
}

double farthest_from_one(const Interval& interval) {
    return std::max(std::abs(std::log(interval.low)), std::abs(std::log(interval.high)));
}

double nearest_to_one(const Interval& interval) {
    return std::min(std::abs(std::log(interval.low)), std::abs(std::log(interval.high)));
}

} // namespace

Comparison compare(const Cell& first, const Cell& second, std::string_view id, Pairing pairing) {
    Comparison result;
    result.metric = id;
    result.why = obstacle(first, second, id);
    if (!result.why.empty())
        return result;
    const auto& before = metric_in(first, id)->by_run;
    const auto& after = metric_in(second, id)->by_run;
    bool has_logs = true;
    std::optional<Interval> interval;
    double estimate = 0;
    if (pairing == Pairing::blocks) {
        std::vector<double> differences;
        for (const auto& [run, value] : before)
            if (const auto other = after.find(run); other != after.end())
                has_logs &= value > 0 && add_log(differences, other->second / value);
        result.runs = differences.size();
        interval = interval_of_mean(differences);
        estimate = differences.empty() ? 0 : mean_of(differences);
    } else {
        std::vector<double> from, to;
        for (const auto& [run, value] : before)
            has_logs &= add_log(from, value);
        for (const auto& [run, value] : after)
            has_logs &= add_log(to, value);
        result.runs = std::min(from.size(), to.size());
        interval = interval_of_difference(from, to);
        estimate = result.runs == 0 ? 0 : mean_of(to) - mean_of(from);
    }
    if (!has_logs) {
        result.why = "a run's value is 0, which has no ratio";
        return result;
    }
    if (result.runs > 0)
        result.ratio = std::exp(estimate);
    if (!interval) {
        result.why = fmt::format("{} {}, an interval needs {}", result.runs,
                                 pairing == Pairing::blocks ? "common blocks of valid runs"
                                                            : "valid runs of each",
                                 kRunsForInterval);
        return result;
    }
    result.interval = {.low = std::exp(interval->low), .high = std::exp(interval->high)};
    result.relation = result.interval->contains(1) ? Relation::indistinguishable
                      : result.interval->low > 1   ? Relation::higher
                                                   : Relation::lower;
    return result;
}

void temper(Comparison& comparison, const Comparison& control) {
    if (!is_told(comparison) || !is_told(control))
        return;
    const double doubt = farthest_from_one(*control.interval);
    if (nearest_to_one(*comparison.interval) > doubt)
        return;
    comparison.relation = Relation::cannot_tell;
    comparison.why = fmt::format("one client under two names differs by up to {:.1f} % here",
                                 100 * std::expm1(doubt));
}

bool is_told(const Comparison& comparison) {
    return comparison.relation == Relation::lower || comparison.relation == Relation::higher;
}

bool is_speed(const MetricEntry& metric) {
    return metric.unit == Unit::per_second || !metric.histogram.empty() ||
           metric.id == "connect_us";
}

std::string_view word_of(const Comparison& comparison) {
    const MetricEntry* metric = find_metric(comparison.metric);
    switch (comparison.relation) {
    case Relation::unknown:
        return "unknown";
    case Relation::indistinguishable:
        return "indistinguishable";
    case Relation::cannot_tell:
        return "cannot_tell";
    case Relation::lower:
    case Relation::higher:
        break;
    }
    if (metric && is_speed(*metric))
        return gain_of(comparison) > 0 ? "faster" : "slower";
    return comparison.relation == Relation::higher ? "more" : "less";
}

int gain_of(const Comparison& comparison) {
    const MetricEntry* metric = find_metric(comparison.metric);
    if (!is_told(comparison) || !metric || metric->direction == Direction::none)
        return 0;
    return (comparison.relation == Relation::higher) == (metric->direction == Direction::higher)
               ? 1
               : -1;
}

std::vector<ControlPair> controls_among(std::span<const Cell* const> cells,
                                        std::span<const Control> controls) {
    std::vector<ControlPair> pairs;
    for (const auto& [client, control] : controls) {
        const auto first = std::ranges::find(cells, client, &Cell::client);
        const auto second = std::ranges::find(cells, control, &Cell::client);
        if (first != cells.end() && second != cells.end())
            pairs.push_back({.client = *first, .control = *second});
    }
    return pairs;
}

std::map<const Cell*, Rank> ranks_of(std::span<const Cell* const> cells, std::string_view metric,
                                     std::span<const ControlPair> controls) {
    std::vector<const Cell*> ranked;
    std::ranges::copy_if(cells, std::back_inserter(ranked), [&](const Cell* cell) {
        const CellMetric* own = metric_in(*cell, metric);
        return cell->status == Status::valid && own && own->value &&
               std::ranges::find(controls, cell, &ControlPair::control) == controls.end();
    });
    std::vector<Comparison> doubts;
    for (const auto& [client, control] : controls)
        doubts.push_back(compare(*client, *control, metric, Pairing::blocks));

    std::map<const Cell*, Rank> ranks;
    for (const Cell* cell : ranked)
        ranks[cell].worst = ranked.size();
    bool is_known = false;
    for (auto first = ranked.begin(); first != ranked.end(); ++first)
        for (auto second = first + 1; second != ranked.end(); ++second) {
            Comparison pair = compare(**first, **second, metric, Pairing::blocks);
            for (const Comparison& doubt : doubts)
                temper(pair, doubt);
            is_known |= pair.interval.has_value();
            if (const int gain = gain_of(pair); gain != 0) {
                ++ranks[gain > 0 ? *first : *second].best;
                --ranks[gain > 0 ? *second : *first].worst;
            }
        }
    return is_known ? ranks : std::map<const Cell*, Rank>();
}

std::string_view leading_metric(const scenario::Point& point) {
    return point.is_capacity ? "rate" : point.rate ? "cpu_us_per_message" : "connect_us";
}

} // namespace mqcore::verdict
