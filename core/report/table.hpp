#pragma once
// The tables that mqcore prints: a campaign's cells, and what `list` and `clients` show. Pure functions
// from data to text; who prints decides about colour and format.

#include "driver/descriptor.hpp"
#include "report/text_table.hpp"
#include "scenario/point.hpp"
#include "verdict/cell.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::report {

struct TableStyle {
    Format format = Format::text;
    bool use_colour = false;
    std::string_view sort = {}; // a metric's id: best cells first, and a column of its own
    bool has_plots = false;     // bars and percentiles below each table; text alone
};

// That a campaign was superseded or retracted, and why; empty for null. Stands above its table.
std::string standing_text(const support::Json& standing, const TableStyle& style);

// A campaign's result: labels first (not comparable: why), then one block a point. Capacity points are
// ranked by rate where the runs bear a ranking, fixed ones show cost and latency in the manifest's order of
// clients, idle ones connect time and footprint; `sort` changes that order. Cells that are not valid are named
// below with their reasons, refused pairs with
// what the driver lacks. `manifest` as in docs/results.schema.json.
std::string campaign_table(const support::Json& manifest, std::span<const verdict::Cell> cells,
                           const TableStyle& style);

// Metrics that the table of a point with this load shows; the leading one is the first.
std::vector<std::string_view> metrics_shown(verdict::Load load);

// "pub, QoS 1, 256 B, 2,000 messages/s, MQTT 3.1.1". `point` as in the manifest.
std::string point_in_words(const support::Json& point);

// A pair of a client and a point that is not run.
struct RefusedPair {
    std::string client, point;
    std::vector<std::string> missing; // what the driver lacks
};

// `mqcore list`: points with kind, QoS, payload, load, protocol and question, then refused pairs.
std::string points_table(std::span<const scenario::Point> points,
                         std::span<const RefusedPair> refused, const TableStyle& style);

// `mqcore clients`: the drivers, then the variants that they declare. versions: library version by client id, where known.
std::string clients_table(std::span<const driver::Descriptor> clients,
                          const std::map<std::string, std::string>& versions,
                          const TableStyle& style);

} // namespace mqcore::report
