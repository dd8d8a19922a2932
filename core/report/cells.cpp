#include "report/cells.hpp"

#include "verdict/comparison.hpp"

#include <algorithm>

namespace mqcore::report {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Cell;
using verdict::Node;

JsonObject metrics_json(const Cell& cell) {
    JsonObject metrics;
    for (const auto& [id, metric] : cell.metrics) {
        const auto interval = verdict::interval_of(metric);
        JsonObject entry{
            {"value", metric.value ? Json(*metric.value) : Json(nullptr)},
            {"unit", verdict::symbol_of(verdict::find_metric(id)->unit)},
            {"interval", interval ? Json(JsonArray{interval->low, interval->high}) : Json(nullptr)},
            {"runs", metric.by_run.size()}};
        if (!metric.value)
            entry["unavailable"] = metric.unavailable;
        metrics[id] = std::move(entry);
    }
    return metrics;
}

Json cell_json(const Cell& cell, const std::map<const Cell*, verdict::Rank>& ranks,
               std::span<const verdict::ControlPair> controls) {
    const auto rank = ranks.find(&cell);
    const auto control = std::ranges::find(controls, &cell, &verdict::ControlPair::control);
    JsonObject flags;
    for (const auto& [id, runs] : cell.flags)
        flags[id] = runs;
    return JsonObject{
        {"client", cell.client},
        {"point", cell.point},
        {"status", verdict::name_of(cell.status)},
        {"reason", cell.reason.empty() ? Json(nullptr) : Json(cell.reason)},
        {"runs", cell.runs},
        {"valid_runs", cell.valid_runs},
        {"rank", rank == ranks.end() ? Json(nullptr)
                                     : Json(JsonArray{rank->second.best, rank->second.worst})},
        {"control_of", control == controls.end() ? Json(nullptr) : Json(control->client->client)},
        {"regime", cell.regime.empty() ? Json(nullptr) : Json(cell.regime)},
        {"flags", std::move(flags)},
        {"metrics", metrics_json(cell)}};
}

Json part_of(const Json& manifest, std::string_view key) {
    const Json* value = support::find(manifest, key);
    return value ? *value : Json(nullptr);
}

} // namespace

Json campaign_json(const Json& manifest, const Json& standing, std::span<const Cell> cells) {
    const std::vector<verdict::Control> known = verdict::controls_in(manifest);
    JsonArray all;
    for (const Cell& cell : cells) {
        std::vector<const Cell*> of_point;
        for (const Cell& other : cells)
            if (other.point == cell.point)
                of_point.push_back(&other);
        const auto controls = verdict::controls_among(of_point, known);
        const bool is_ranked = support::boolean_or(cell.spec, "capacity", false);
        all.push_back(cell_json(cell,
                                is_ranked ? verdict::ranks_of(of_point, "rate", controls)
                                          : std::map<const Cell*, verdict::Rank>(),
                                controls));
    }
    return JsonObject{{"format", "mqcore-cells/1"},
                      {"campaign", part_of(manifest, "id")},
                      {"comparable", part_of(manifest, "comparable")},
                      {"not_comparable_because", part_of(manifest, "not_comparable_because")},
                      {"standing", standing},
                      {"confidence", verdict::kConfidence},
                      {"resamples", verdict::kResamples},
                      {"cells", std::move(all)}};
}

} // namespace mqcore::report
