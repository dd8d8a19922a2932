#include "campaign/compare.hpp"

#include "support/text.hpp"
#include "verdict/context.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace mqcore::campaign {
namespace {

using support::Error;
using support::ErrorCode;
using support::Json;
using verdict::Cell;
using verdict::Node;
using verdict::Pairing;

// What two campaigns must have in common, and what it is called when they have not.
struct Condition {
    const char *part, *key, *name;
};
constexpr Condition kConditions[] = {
    {"machine", "cpu_model", "processor"},
    {"machine", "architecture", "architecture"},
    {"machine", "cores", "number of cores"},
    {"machine", "cpus", "number of logical CPUs"},
    {"machine", "smt", "SMT"},
    {"machine", "turbo", "turbo"},
    {"machine", "governors", "frequency governor"},
    {"machine", "kernel", "kernel"},
    {"machine", "distribution", "distribution"},
    {"machine", "hypervisor", "hypervisor"},
    {"machine", "container", "container"},
    {"machine", "cpu_quota_cores", "CPU quota"},
    {"cores", "cpus", "placement on cores"},
    {"broker", "managed", "broker"},
    {"broker", "version", "broker version"},
    {"broker", "binary_sha256", "broker binary"},
    {"broker", "config_sha256", "broker configuration"},
    {"profile", "name", "profile"},
    {"profile", "warmup_ns", "warm-up"},
    {"profile", "window_ns", "window"},
    {"profile", "drain_ns", "drain"},
};

std::string brief_of(Node node) {
    return node ? support::brief(support::print_json(*node.json()), 40) : "unknown";
}

bool are_equal(Node a, Node b) { return a && b ? *a.json() == *b.json() : !a && !b; }

std::vector<std::string> ids_in(const Json& manifest, std::string_view list) {
    std::vector<std::string> ids;
    if (const Node items = Node(&manifest)[list]; items && items.json()->is_array())
        for (const Json& item : items.json()->get_array())
            ids.push_back(Node(&item).text("id"));
    return ids;
}

Node point_in(const Json& manifest, const std::string& id) {
    if (const Node points = Node(&manifest)["points"]; points && points.json()->is_array())
        for (const Json& item : points.json()->get_array())
            if (Node(&item).text("id") == id)
                return Node(&item);
    return {};
}

// Refuses, or warns, about what a campaign says of itself.
support::Result<void> admit(const StoredCampaign& campaign, const CompareRequest& request,
                            std::vector<std::string>& warnings) {
    const Node manifest(&campaign.manifest);
    const std::string id = manifest.text("id");
    std::vector<std::string> labels;
    if (!manifest.boolean("comparable").value_or(false))
        labels.push_back(fmt::format("'{}' is NOT COMPARABLE: {}", id,
                                     fmt::join(manifest.texts("not_comparable_because"), "; ")));
    if (const Node standing(&campaign.standing); standing)
        labels.push_back(
            fmt::format("'{}' is {}: {}", id, standing.text("standing"), standing.text("reason")));
    if (!labels.empty() && !request.is_anyway)
        return Error{ErrorCode::wrong_input, fmt::format("{}", fmt::join(labels, "; ")),
                     "--anyway compares it nevertheless and says so"};
    if (manifest.text("state") != "finished")
        labels.push_back(fmt::format("'{}' is {}", id, manifest.text("state")));
    warnings.insert(warnings.end(), labels.begin(), labels.end());
    return {};
}

support::Result<void> check_names(const std::vector<std::string>& names,
                                  const std::vector<std::string>& known, std::string_view what,
                                  std::string_view where) {
    for (const std::string& name : names)
        if (std::ranges::find(known, name) == known.end()) {
            const auto close = support::nearest(name, known);
            return Error{ErrorCode::wrong_input, fmt::format("no {} '{}' in {}", what, name, where),
                         close ? fmt::format("did you mean '{}'?", *close)
                               : fmt::format("there are: {}", fmt::join(known, ", "))};
        }
    return {};
}

support::Result<void> check_metrics(const CompareRequest& request) {
    std::vector<std::string> known;
    for (const verdict::MetricEntry& entry : verdict::metrics())
        known.push_back(entry.id);
    return check_names(request.metrics, known, "metric", "the table");
}

const Cell* cell_of(const std::vector<Cell>& cells, const std::string& client,
                    const std::string& point) {
    const auto found = std::ranges::find_if(
        cells, [&](const Cell& cell) { return cell.client == client && cell.point == point; });
    return found == cells.end() ? nullptr : &*found;
}

// One side of a comparison.
struct Side {
    const StoredCampaign& campaign;
    std::vector<Cell> cells;
    std::vector<verdict::Control> controls;

    explicit Side(const StoredCampaign& of)
        : campaign(of), cells(verdict::cells_of(of.runs)),
          controls(verdict::controls_in(of.manifest)) {}

    void temper(verdict::Comparison& comparison, const std::string& point) const {
        for (const auto& [client, control] : controls) {
            const Cell* first = cell_of(cells, client, point);
            const Cell* second = cell_of(cells, control, point);
            if (first && second)
                verdict::temper(comparison, verdict::compare(*first, *second, comparison.metric,
                                                             Pairing::blocks));
        }
    }
};

verdict::Number value_of(const Cell* cell, const std::string& metric) {
    return cell && cell->metrics.contains(metric) ? cell->metrics.at(metric).value : std::nullopt;
}

// The rows of one client pair on one point. `obstacle`: why nothing of it compares; empty: it does.
void add_pairs(CampaignComparison& result, const Side& first, const std::string& first_client,
               const Side& second, const std::string& second_client, const std::string& point,
               const CompareRequest& request, const std::string& obstacle, Pairing pairing) {
    const Cell* before = cell_of(first.cells, first_client, point);
    const Cell* after = cell_of(second.cells, second_client, point);
    if (!before && !after)
        return;
    const Node spec = point_in(first.campaign.manifest, point);
    for (const std::string& metric : request.metrics) {
        // At a fixed rate the rate is the scenario's, not the client's.
        if (metric == "rate" && !spec.boolean("capacity").value_or(false))
            continue;
        ComparedPair pair{.point = point,
                          .first = first_client,
                          .second = second_client,
                          .first_value = value_of(before, metric),
                          .second_value = value_of(after, metric),
                          .comparison = {},
                          .is_lost = false};
        if (!pair.first_value && !pair.second_value && before && after &&
            before->status == verdict::Status::valid && after->status == verdict::Status::valid &&
            !before->metrics.contains(metric) && !after->metrics.contains(metric))
            continue; // the point has no such metric
        pair.comparison.metric = metric;
        if (!obstacle.empty()) {
            pair.comparison.why = obstacle;
        } else if (!before || !after) {
            pair.comparison.why =
                fmt::format("{} has no run", before ? second_client : first_client);
        } else {
            pair.comparison = verdict::compare(*before, *after, metric, pairing);
            first.temper(pair.comparison, point);
            if (&first != &second)
                second.temper(pair.comparison, point);
        }
        pair.is_lost = before && before->status == verdict::Status::valid &&
                       !(after && after->status == verdict::Status::valid);
        result.pairs.push_back(std::move(pair));
    }
}

// Keys in which a point differs; empty: it is the same.
std::string point_difference(Node first, Node second) {
    if (!first || !second)
        return fmt::format("the {} campaign has no such point", first ? "second" : "first");
    std::set<std::string> keys;
    for (const Node& point : {first, second})
        for (const auto& member : point.json()->get_object())
            if (const std::string key(member.key());
                key != "question" && !are_equal(first[key], second[key]))
                keys.insert(key);
    return keys.empty() ? std::string()
                        : fmt::format("the point is another one: {}", fmt::join(keys, ", "));
}

} // namespace

support::Result<CampaignComparison> compare_clients(const StoredCampaign& campaign,
                                                    const CompareRequest& request) {
    const std::string id = support::text_or(campaign.manifest, "id", "");
    if (request.clients.size() < 2)
        return Error{ErrorCode::wrong_input, "within one campaign two clients are compared",
                     fmt::format("--clients with two or more of: {}",
                                 fmt::join(ids_in(campaign.manifest, "clients"), ", "))};
    if (auto known = check_names(request.clients, ids_in(campaign.manifest, "clients"), "client",
                                 "'" + id + "'");
        !known)
        return std::move(known).error();
    if (auto known = check_metrics(request); !known)
        return std::move(known).error();
    CampaignComparison result;
    result.first = request.clients.front();
    result.second = fmt::format("{}", fmt::join(std::span(request.clients).subspan(1), ", "));
    if (auto admitted = admit(campaign, request, result.warnings); !admitted)
        return std::move(admitted).error();
    const Side side(campaign);
    for (const std::string& point : ids_in(campaign.manifest, "points"))
        for (const std::string& client : std::span(request.clients).subspan(1))
            add_pairs(result, side, request.clients.front(), side, client, point, request, {},
                      Pairing::blocks);
    return result;
}

support::Result<CampaignComparison> compare_campaigns(const StoredCampaign& first,
                                                      const StoredCampaign& second,
                                                      const CompareRequest& request) {
    std::vector<std::string> differences;
    for (const Condition& condition : kConditions) {
        const Node a = Node(&first.manifest)[condition.part][condition.key];
        const Node b = Node(&second.manifest)[condition.part][condition.key];
        if (!are_equal(a, b))
            differences.push_back(
                fmt::format("another {} ({}, {})", condition.name, brief_of(a), brief_of(b)));
    }
    if (!differences.empty())
        return Error{ErrorCode::wrong_input,
                     fmt::format("the campaigns do not compare: {}", fmt::join(differences, "; ")),
                     "measure both under the same conditions, best of all in one campaign"};
    if (auto known = check_metrics(request); !known)
        return std::move(known).error();
    std::vector<std::string> clients = request.clients;
    if (clients.empty()) {
        const std::vector<std::string> others = ids_in(second.manifest, "clients");
        const std::vector<verdict::Control> controls = verdict::controls_in(first.manifest);
        for (const std::string& id : ids_in(first.manifest, "clients"))
            if (std::ranges::find(others, id) != others.end() &&
                std::ranges::find(controls, id, &verdict::Control::control) == controls.end())
                clients.push_back(id);
    }
    CampaignComparison result;
    result.first = support::text_or(first.manifest, "id", "");
    result.second = support::text_or(second.manifest, "id", "");
    for (const StoredCampaign* campaign : {&first, &second}) {
        if (auto known = check_names(clients, ids_in(campaign->manifest, "clients"), "client",
                                     "'" + support::text_or(campaign->manifest, "id", "") + "'");
            !known)
            return std::move(known).error();
        if (auto admitted = admit(*campaign, request, result.warnings); !admitted)
            return std::move(admitted).error();
    }
    if (clients.empty())
        return Error{ErrorCode::wrong_input, "the campaigns have no client in common", {}};
    if (!are_equal(Node(&first.manifest)["mqcore"]["programs"],
                   Node(&second.manifest)["mqcore"]["programs"]))
        result.warnings.push_back("mqcore itself is another build: its own cost may differ");
    const Side before(first), after(second);
    std::vector<std::string> points = ids_in(first.manifest, "points");
    for (const std::string& id : ids_in(second.manifest, "points"))
        if (std::ranges::find(points, id) == points.end())
            points.push_back(id);
    for (const std::string& point : points) {
        const std::string obstacle =
            point_difference(point_in(first.manifest, point), point_in(second.manifest, point));
        for (const std::string& client : clients)
            add_pairs(result, before, client, after, client, point, request, obstacle,
                      Pairing::apart);
    }
    return result;
}

std::vector<const ComparedPair*> slower_than(const CampaignComparison& comparison, double share) {
    std::vector<const ComparedPair*> found;
    for (const ComparedPair& pair : comparison.pairs) {
        const double ratio = pair.comparison.ratio.value_or(1);
        if (pair.is_lost ||
            (verdict::gain_of(pair.comparison) < 0 && std::max(ratio, 1 / ratio) > 1 + share))
            found.push_back(&pair);
    }
    return found;
}

} // namespace mqcore::campaign
