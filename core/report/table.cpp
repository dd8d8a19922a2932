#include "report/table.hpp"

#include "report/figures.hpp"
#include "report/text_plot.hpp"
#include "support/text.hpp"
#include "verdict/comparison.hpp"
#include "verdict/context.hpp"
#include "verdict/explain.hpp"
#include "verdict/limits.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <set>

namespace mqcore::report {
namespace {

using scenario::Kind;
using scenario::Point;
using support::Json;
using verdict::Cell;
using verdict::CellMetric;
using verdict::Node;
using verdict::Status;

constexpr std::string_view kUnknown = "n/a";

// A column of a block: a metric, or something else of the cell.
struct BlockColumn {
    std::string_view metric;
    std::string_view title; // empty: the metric's
    bool is_bare = false;   // the unit is in the title already
};

// What each load shows. A column that no cell of the block has is left out, so that one list serves
// publish, receive and round trip points alike, and a metric that is new needs one more row.
constexpr BlockColumn kCapacityColumns[] = {{"rate", "msgs/s", false},
                                            {"cpu_us_per_message", "", true},
                                            {"cpu_percent", "", false},
                                            {"rss_peak_kib", "", false}};
constexpr BlockColumn kFixedColumns[] = {
    {"cpu_us_per_message", "", true},       {"rss_peak_kib", "", false},
    {"transit_p50_us", "p50", false},       {"transit_p99_us", "p99", false},
    {"since_due_p99_us", "due p99", false}, {"lag_p99_us", "lag p99", false}};
constexpr BlockColumn kIdleColumns[] = {{"connect_us", "", false},
                                        {"rss_peak_kib", "", false},
                                        {"cpu_percent", "", false},
                                        {"threads", "", false}};

struct Block {
    Point point;
    std::vector<const Cell*> cells; // in the manifest's order of clients; by rate at capacity
    std::vector<verdict::ControlPair> controls;
    std::map<const Cell*, verdict::Rank> ranks; // of capacity points; empty: there is no ranking
    std::vector<RefusedPair> refused;
    std::vector<std::string> not_run;
};

std::vector<const Json*> items_of(Node array) {
    std::vector<const Json*> items;
    if (array && array.json()->is_array())
        for (const Json& item : array.json()->get_array())
            items.push_back(&item);
    return items;
}

Point point_from(Node node) {
    Point point{.id = node.text("id")};
    point.kind = scenario::kind_of(node.text("kind")).value_or(Kind::idle);
    point.qos = static_cast<std::uint32_t>(node.count("qos").value_or(0));
    point.rate = node.number("rate");
    point.is_capacity = node.boolean("capacity").value_or(false);
    point.window = static_cast<std::uint32_t>(node.count("window").value_or(0));
    point.protocol = measure::protocol_of(node.text("protocol")).value_or(measure::Protocol::v311);
    point.has_tls = node.boolean("tls").value_or(false);
    point.is_direct = node.boolean("direct").value_or(false);
    point.question = node.text("question");
    const auto small = [&](std::string_view key, std::uint32_t fallback) {
        return static_cast<std::uint32_t>(node.count(key).value_or(fallback));
    };
    for (const std::uint64_t bytes : node.counts("payload_bytes"))
        point.payload_bytes = static_cast<std::uint32_t>(bytes);
    for (const std::uint64_t bytes : node.counts("packets"))
        point.packets.push_back(static_cast<std::uint32_t>(bytes));
    point.topics = small("topics", 1);
    point.filters = small("filters", 1);
    point.receive_maximum = small("receive_maximum", 0);
    point.has_topic_alias = node.boolean("topic_alias").value_or(false);
    // That there are some is all that a line of words needs.
    const Node properties = node["properties"];
    for (const char* key : {"content_type", "response_topic", "correlation_data"})
        point.properties.content_type += properties.text(key);
    if (!items_of(properties["user"]).empty())
        point.properties.user.emplace_back();
    return point;
}

std::string protocol_of(const Point& point) {
    return fmt::format("MQTT {}{}", measure::name_of(point.protocol), point.has_tls ? ", TLS" : "");
}

// "pub, QoS 1, 256 B, 2,000 messages/s, MQTT 3.1.1"
std::string line_of(const Block& block) {
    const Point& point = block.point;
    if (point.kind == Kind::idle)
        return fmt::format("{}{}, {}", scenario::name_of(point.kind),
                           point.is_direct ? ", direct" : "", protocol_of(point));
    return fmt::format("{}, QoS {}, {}, {}, {}", scenario::name_of(point.kind), point.qos,
                       verdict::payload_in_words(point), verdict::load_in_words(point),
                       protocol_of(point));
}

std::vector<RefusedPair> refused_pairs(const Json& manifest) {
    std::vector<RefusedPair> pairs;
    for (const Json* item : items_of(Node(&manifest)["refused"])) {
        const Node pair(item);
        // What a run showed is a cell of its own.
        if (!pair.boolean("at_run_time").value_or(false))
            pairs.push_back({pair.text("client"), pair.text("point"), pair.texts("missing")});
    }
    return pairs;
}

// Best first, cells without a value last.
void sort_by(std::vector<const Cell*>& cells, std::string_view metric) {
    const bool is_higher_better =
        verdict::find_metric(metric)->direction == verdict::Direction::higher;
    std::ranges::stable_sort(cells, std::ranges::less{}, [&](const Cell* cell) {
        const auto found = cell->metrics.find(std::string(metric));
        const bool is_known = found != cell->metrics.end() && found->second.value;
        const double value = is_known ? *found->second.value : 0;
        return std::pair(!is_known, is_higher_better ? -value : value);
    });
}

bool is_control(const Block& block, const Cell* cell) {
    return std::ranges::find(block.controls, cell, &verdict::ControlPair::control) !=
           block.controls.end();
}

std::vector<Block> blocks_of(const Json& manifest, std::span<const Cell> cells,
                             std::string_view sort) {
    const std::vector<RefusedPair> refused = refused_pairs(manifest);
    std::vector<Block> blocks;
    for (const Json* item : items_of(Node(&manifest)["points"])) {
        Block block;
        block.point = point_from(Node(item));
        const std::string& id = block.point.id;
        std::ranges::copy_if(refused, std::back_inserter(block.refused),
                             [&](const RefusedPair& pair) { return pair.point == id; });
        for (const Json* client : items_of(Node(&manifest)["clients"])) {
            const std::string name = Node(client).text("id");
            const auto cell = std::ranges::find_if(
                cells, [&](const Cell& each) { return each.client == name && each.point == id; });
            const bool is_refused = std::ranges::any_of(
                block.refused, [&](const RefusedPair& pair) { return pair.client == name; });
            if (cell != cells.end())
                block.cells.push_back(&*cell);
            else if (!is_refused)
                block.not_run.push_back(name);
        }
        if (block.point.is_capacity || !sort.empty())
            sort_by(block.cells, sort.empty() ? "rate" : sort);
        block.controls = verdict::controls_among(block.cells, verdict::controls_in(manifest));
        if (block.point.is_capacity)
            block.ranks = verdict::ranks_of(block.cells, "rate", block.controls);
        blocks.push_back(std::move(block));
    }
    return blocks;
}

std::span<const BlockColumn> columns_for(verdict::Load load) {
    switch (load) {
    case verdict::Load::capacity:
        return kCapacityColumns;
    case verdict::Load::fixed:
        return kFixedColumns;
    case verdict::Load::idle:
        break;
    }
    return kIdleColumns;
}

std::vector<BlockColumn> columns_of(const Block& block, std::string_view sort) {
    const std::span<const BlockColumn> usual =
        columns_for(block.point.is_capacity ? verdict::Load::capacity
                    : block.point.rate      ? verdict::Load::fixed
                                            : verdict::Load::idle);
    std::vector<BlockColumn> columns(usual.begin(), usual.end());
    if (!sort.empty() && std::ranges::find(columns, sort, &BlockColumn::metric) == columns.end())
        columns.insert(columns.begin(), {sort, {}, false});
    return columns;
}

bool is_shown(const Block& block, std::string_view metric) {
    return std::ranges::any_of(
        block.cells, [&](const Cell* cell) { return cell->metrics.contains(std::string(metric)); });
}

// Fewer than kSamplesBehind samples lie above the percentile.
bool is_thin(const CellMetric& metric, const verdict::MetricEntry& entry) {
    return metric.samples && entry.quantile > 0 && entry.quantile < 1 &&
           static_cast<double>(*metric.samples) * (1 - entry.quantile) <
               static_cast<double>(verdict::kSamplesBehind) - 1e-6;
}

// What a table leaves to be explained below it.
struct Legend {
    std::set<std::string> flags;
    bool has_thin = false;
    std::set<std::string> intervals; // titles of the metrics whose interval is shown
    bool has_ranks = false;
    std::map<std::string, std::pair<std::size_t, std::size_t>> controls; // name: differing, all
    bool has_latency = false;
    // Client and reason: the metrics that are missing for it.
    std::vector<std::pair<std::string, std::vector<std::string>>> unavailable;

    void note_unavailable(const std::string& metric, const std::string& client_and_why) {
        auto found =
            std::ranges::find(unavailable, client_and_why, [](auto& each) { return each.first; });
        if (found == unavailable.end())
            found = unavailable.insert(unavailable.end(), {client_and_why, {}});
        if (std::ranges::find(found->second, metric) == found->second.end())
            found->second.push_back(metric);
    }
};

TextCell value_cell(const Cell& cell, const BlockColumn& column, Legend& legend) {
    const verdict::MetricEntry& entry = *verdict::find_metric(column.metric);
    const auto found = cell.metrics.find(entry.id);
    if (found == cell.metrics.end())
        return {};
    const CellMetric& metric = found->second;
    if (!metric.value) {
        legend.note_unavailable(entry.id, fmt::format("{}: {}", cell.client, metric.unavailable));
        return {std::string(kUnknown), Paint::dim};
    }
    legend.has_latency |= !entry.histogram.empty();
    const bool has_thin_tail = is_thin(metric, entry);
    legend.has_thin |= has_thin_tail;
    return {(has_thin_tail ? "~" : "") +
            (column.is_bare ? short_number(*metric.value) : formatted(*metric.value, entry.unit))};
}

TextCell rank_cell(const Block& block, const Cell* cell) {
    const auto found = block.ranks.find(cell);
    if (found == block.ranks.end())
        return {is_control(block, cell) ? "A/A" : "", Paint::dim};
    const auto [best, worst] = found->second;
    return {best == worst ? std::to_string(best) : fmt::format("{}-{}", best, worst)};
}

std::optional<verdict::Interval> interval_in(const Cell& cell, std::string_view metric) {
    const auto found = cell.metrics.find(std::string(metric));
    return found == cell.metrics.end() ? std::nullopt : verdict::interval_of(found->second);
}

TextCell interval_cell(const Cell& cell, const BlockColumn& column) {
    const verdict::MetricEntry& entry = *verdict::find_metric(column.metric);
    const auto interval = interval_in(cell, entry.id);
    if (!interval)
        return {std::string(kUnknown), Paint::dim};
    const auto text = [&](double value) {
        return column.is_bare ? short_number(value) : formatted(value, entry.unit);
    };
    return {fmt::format("{} - {}", text(interval->low), text(interval->high))};
}

TextCell flags_cell(const Cell& cell, Legend& legend) {
    std::vector<std::string> names;
    for (const verdict::FlagEntry& entry : verdict::flags()) { // in the table's order
        const auto found = cell.flags.find(entry.id);
        if (found == cell.flags.end() || entry.id == "non_comparable") // labels the whole campaign
            continue;
        legend.flags.insert(entry.id);
        names.push_back(
            found->second == cell.valid_runs
                ? entry.id
                : fmt::format("{} ({} of {} runs)", entry.id, found->second, cell.valid_runs));
    }
    return {fmt::format("{}", fmt::join(names, ", ")), Paint::yellow};
}

std::string table_of(const Block& block, const TableStyle& style, Legend& legend) {
    const bool is_ranked = !block.ranks.empty();
    const std::vector<BlockColumn> own = columns_of(block, {});
    const BlockColumn leading =
        *std::ranges::find(own, verdict::leading_metric(block.point), &BlockColumn::metric);
    const bool has_interval = std::ranges::any_of(block.cells, [&](const Cell* cell) {
        return interval_in(*cell, leading.metric).has_value();
    });
    legend.has_ranks |= is_ranked;
    if (has_interval)
        legend.intervals.insert(verdict::find_metric(leading.metric)->title);
    const bool has_regime =
        std::ranges::any_of(block.cells, [](const Cell* cell) { return !cell->regime.empty(); });
    std::vector<Column> columns;
    std::vector<BlockColumn> shown;
    if (is_ranked)
        columns.push_back({"#", Align::right});
    columns.push_back({"client", Align::left});
    for (const BlockColumn& column : columns_of(block, style.sort))
        if (is_shown(block, column.metric)) {
            shown.push_back(column);
            columns.push_back({column.title.empty() ? verdict::find_metric(column.metric)->title
                                                    : std::string(column.title),
                               Align::right});
        }
    if (has_interval)
        columns.push_back({"interval", Align::right});
    columns.push_back({"runs", Align::right});
    if (has_regime)
        columns.push_back({"regime", Align::left});
    columns.push_back({"flags", Align::left});

    TextTable table(std::move(columns));
    for (const Cell* cell : block.cells) {
        if (cell->status != Status::valid)
            continue;
        std::vector<TextCell> row;
        if (is_ranked)
            row.push_back(rank_cell(block, cell));
        row.push_back({cell->client, Paint::bold});
        for (const BlockColumn& column : shown)
            row.push_back(value_cell(*cell, column, legend));
        if (has_interval)
            row.push_back(interval_cell(*cell, leading));
        row.push_back({fmt::format("{}/{}", cell->valid_runs, cell->runs),
                       cell->valid_runs == cell->runs ? Paint::none : Paint::yellow});
        if (has_regime)
            row.push_back({cell->regime});
        row.push_back(flags_cell(*cell, legend));
        table.add(std::move(row));
    }
    return table.empty() ? std::string() : table.print(style.format, style.use_colour, 2);
}

std::string metric_text(double value_us) { return support::format_duration(value_us * 1e3); }

// The percentiles of one histogram, all clients on one scale.
std::string percentile_plot(const Block& block, std::string_view histogram) {
    constexpr const char* kMarks[] = {"●", "┼", "┤", "╎", "×"};
    std::vector<Strip> strips;
    for (const Cell* cell : block.cells) {
        if (!cell->histograms.contains(std::string(histogram)))
            continue;
        Strip strip{cell->client, {}};
        for (const verdict::MetricEntry& entry : verdict::metrics())
            if (entry.histogram == histogram)
                strip.values.push_back(cell->metrics.at(entry.id).value);
        strips.push_back(std::move(strip));
    }
    const std::string plot = strip_plot(strips, kMarks, metric_text);
    return plot.empty()
               ? plot
               : fmt::format("\n  {}, logarithmic: ● p50  ┼ p90  ┤ p99  ╎ p99.9  × max\n{}",
                             histogram, plot);
}

// The first column as bars, then every latency that the point has.
std::string plots_of(const Block& block, const TableStyle& style) {
    const std::string_view metric =
        style.sort.empty() ? columns_of(block, style.sort).front().metric : style.sort;
    const verdict::MetricEntry& entry = *verdict::find_metric(metric);
    std::vector<Bar> bars;
    std::vector<std::string_view> histograms;
    for (const Cell* cell : block.cells)
        if (const auto found = cell->metrics.find(entry.id);
            found != cell->metrics.end() && found->second.value)
            bars.push_back(
                {cell->client, *found->second.value, formatted(*found->second.value, entry.unit)});
    std::string out = bars.empty()
                          ? std::string()
                          : fmt::format("\n  {} ({})\n{}", entry.title,
                                        verdict::unit_and_direction(entry), bar_plot(bars));
    for (const verdict::MetricEntry& each : verdict::metrics())
        if (!each.histogram.empty() &&
            (histograms.empty() || histograms.back() != each.histogram)) {
            histograms.push_back(each.histogram);
            out += percentile_plot(block, each.histogram);
        }
    return out;
}

// Where a client differs from itself, with how much of a difference cannot be told from that.
std::vector<std::string> control_notes(const Block& block, Legend& legend) {
    std::vector<std::string> notes;
    for (const auto& [client, control] : block.controls)
        for (const BlockColumn& column : columns_of(block, {})) {
            const verdict::Comparison self =
                verdict::compare(*client, *control, column.metric, verdict::Pairing::blocks);
            if (!self.interval)
                continue;
            auto& [differing, all] = legend.controls[client->client];
            ++all;
            if (!verdict::is_told(self))
                continue;
            ++differing;
            notes.push_back(fmt::format("A/A: {} differs from itself in {} by {}: this campaign "
                                        "cannot tell differences of that size here",
                                        client->client, verdict::find_metric(column.metric)->title,
                                        percent_of(*self.ratio, *self.interval)));
        }
    return notes;
}

// At least two clients have run often enough to be ranked.
bool has_enough_runs(const Block& block) {
    return std::ranges::count_if(block.cells, [](const Cell* cell) {
               return cell->runs >= verdict::kRunsForInterval && cell->valid_runs > 0;
           }) > 1;
}

// Lines below a table: what has no row in it, and why.
std::vector<std::string> notes_of(const Block& block, const TableStyle& style, Legend& legend) {
    std::vector<std::string> notes = control_notes(block, legend);
    if (block.point.is_capacity && block.ranks.empty() && has_enough_runs(block))
        notes.push_back(
            fmt::format("not ranked: no two clients have {} valid runs in common blocks",
                        verdict::kRunsForInterval));
    for (const Cell* cell : block.cells)
        if (cell->status != Status::valid)
            notes.push_back(
                fmt::format("{} {}{}: {}", cell->client,
                            painted(name_of(cell->status),
                                    cell->status == Status::not_sustained ? Paint::yellow
                                    : cell->status == Status::unsupported ? Paint::dim
                                                                          : Paint::red,
                                    style.use_colour),
                            cell->party.empty() ? "" : " (" + cell->party + ")", cell->reason));
        else if (cell->valid_runs < cell->runs) {
            std::vector<std::string> others;
            for (const auto& [status, count] : cell->by_status)
                if (status != Status::valid)
                    others.push_back(fmt::format("{} {}", count, name_of(status)));
            notes.push_back(fmt::format("{} besides its valid runs: {}", cell->client,
                                        fmt::join(others, ", ")));
        }
    for (const RefusedPair& pair : block.refused)
        notes.push_back(
            fmt::format("{} {}: does not claim {}", pair.client,
                        painted(name_of(Status::unsupported), Paint::dim, style.use_colour),
                        fmt::join(pair.missing, ", ")));
    if (!block.not_run.empty())
        notes.push_back(fmt::format("not run: {}", fmt::join(block.not_run, ", ")));
    return notes;
}

std::string list_of(const std::vector<std::string>& lines, Format format) {
    std::string out;
    for (const std::string& line : lines)
        out += (format == Format::markdown ? "- " : "  ") + line + '\n';
    return out;
}

std::string seconds_of(Node profile, std::string_view key) {
    return fmt::format("{:g} s", static_cast<double>(profile.count(key).value_or(0)) * 1e-9);
}

std::string head_of(const Json& manifest) {
    const Node root(&manifest);
    const Node profile = root["profile"];
    const Node broker = root["broker"];
    const verdict::Number width = root["until"].number("width");
    const std::string until = width ? fmt::format(" and more until {:g} % or {}", 100 * *width,
                                                  root["until"].count("runs_max").value_or(0))
                                    : "";
    std::vector<std::string> parts = {
        fmt::format("campaign {}", root.text("id")),
        fmt::format("profile {} ({} warm-up, {} window, {} run{}{})", profile.text("name"),
                    seconds_of(profile, "warmup_ns"), seconds_of(profile, "window_ns"),
                    profile.count("runs").value_or(1),
                    profile.count("runs").value_or(1) == 1 ? "" : "s", until)};
    if (const std::string version = broker.text("version"); !version.empty())
        parts.push_back("Mosquitto " + version);
    const std::vector<const Json*> points = items_of(root["points"]);
    if (!points.empty() && std::ranges::all_of(points, [](const Json* point) {
            return Node(point).boolean("direct").value_or(false);
        }))
        parts.emplace_back("direct: no broker, a ranking of its own");
    if (const std::string version = root["mqcore"].text("version"); !version.empty())
        parts.push_back("mqcore " + version);
    return fmt::format("{}\n", fmt::join(parts, " · "));
}

// "mqcore's own cost, ns a message: python-null publish 291, receive 180 (paho); …". Empty: a campaign
// of before it was measured.
std::string floor_line_of(const Json& manifest) {
    const Node floor = Node(&manifest)["harness_floor"];
    const auto best_of = [](Node row, std::string_view call) {
        const double best = row[call].number("best_ns").value_or(0);
        return short_number(best);
    };
    std::vector<std::string> parts;
    for (const Json* item : items_of(floor["rows"])) {
        const Node row(item);
        parts.push_back(fmt::format("{} publish {}, receive {} ({})", row.text("client"),
                                    best_of(row, "publish"), best_of(row, "receive"),
                                    fmt::join(row.texts("clients"), ", ")));
    }
    if (const Node unavailable = floor["unavailable"];
        unavailable && unavailable.json()->is_object())
        for (const auto& member : unavailable.json()->get_object())
            parts.push_back(fmt::format("not known for {}: {}", std::string_view(member.key()),
                                        unavailable.text(member.key())));
    if (parts.empty())
        return {};
    return fmt::format("mqcore's own cost, ns a message: {}\n", fmt::join(parts, "; "));
}

// "the broker's acknowledgement of a QoS 1 publish of 256 B, one in flight: mean 41.2 µs, p50 …". Empty: a
// campaign of before it was measured.
std::string acknowledgement_line_of(const Json& manifest) {
    const Node times = Node(&manifest)["acknowledgement"];
    if (!times)
        return {};
    const std::string what =
        fmt::format("the broker's acknowledgement of a QoS {} publish of {} B, one in flight: ",
                    times.count("qos").value_or(0), times.count("payload_bytes").value_or(0));
    if (const std::string why = times.text("unavailable"); !why.empty())
        return fmt::format("{}not known: {}\n", what, why);
    const auto in_us = [&](std::string_view key) {
        return support::format_duration(times.number(key).value_or(0));
    };
    return fmt::format("{}mean {}, p50 {}, p99 {}, max {}\n", what, in_us("mean_ns"),
                       in_us("p50_ns"), in_us("p99_ns"), in_us("max_ns"));
}

// What whoever reads the tables must know first, with what is behind it.
struct Label {
    std::string text;
    std::vector<std::string> because;
};

std::vector<Label> labels_of(const Json& manifest, const std::vector<Block>& blocks) {
    const Node root(&manifest);
    std::vector<Label> labels;
    if (!root.boolean("comparable").value_or(false))
        labels.push_back({"NOT COMPARABLE", root.texts("not_comparable_because")});
    std::size_t most = 0;
    for (const Block& block : blocks)
        for (const Cell* cell : block.cells)
            most = std::max(most, cell->runs);
    if (most > 0 && most < verdict::kRunsForInterval)
        labels.push_back({"NO INTERVALS, NO RANKING",
                          {fmt::format("{} of each pair, an interval needs {}: rows stand in the "
                                       "order of what was seen, which may be chance",
                                       most == 1 ? "one run" : fmt::format("{} runs", most),
                                       verdict::kRunsForInterval)}});
    std::size_t missing = 0;
    for (const Block& block : blocks)
        missing += block.not_run.size();
    Label incomplete{"INCOMPLETE", {}};
    if (root.text("state") != "finished")
        incomplete.because.push_back("the campaign is " + root.text("state"));
    if (missing > 0)
        incomplete.because.push_back(
            fmt::format("{} {} not run", missing, missing == 1 ? "pair was" : "pairs were"));
    if (!incomplete.because.empty())
        labels.push_back(std::move(incomplete));
    return labels;
}

std::string label_text(const Label& label, const TableStyle& style) {
    const std::string end = label.because.empty() ? "" : ":";
    const std::string because = list_of(label.because, style.format);
    if (style.format == Format::markdown)
        return fmt::format("**{}**{}\n\n{}{}", label.text, end, because,
                           because.empty() ? "" : "\n");
    return fmt::format("{}{}\n{}", painted(label.text, Paint::yellow, style.use_colour), end,
                       because);
}

std::string legend_text(const Legend& legend, Format format) {
    std::vector<std::string> lines;
    for (const auto& [client, counts] : legend.controls)
        lines.push_back(
            fmt::format("A/A control: {} against itself differs in {} of {} comparisons.", client,
                        counts.first, counts.second));
    if (legend.has_ranks)
        lines.push_back(
            "#: the places that a client may hold; those of clients that cannot be told "
            "apart overlap.");
    if (!legend.intervals.empty())
        lines.push_back(fmt::format("interval: of {}, {:.0f} % bootstrap interval over the valid "
                                    "runs ({} resamples).",
                                    fmt::join(legend.intervals, ", "), 100 * verdict::kConfidence,
                                    support::format_count(verdict::kResamples)));
    if (legend.has_latency)
        lines.push_back(
            "p50, p99: from the publish to the arrival (round trip: of the answer); due: "
            "from when the message was due; lag: how late it was sent.");
    if (legend.has_thin)
        lines.push_back(fmt::format("~: fewer than {} samples lie above this percentile.",
                                    verdict::kSamplesBehind));
    for (const verdict::FlagEntry& entry : verdict::flags())
        if (legend.flags.contains(entry.id))
            lines.push_back(fmt::format("{}: {}", entry.id, entry.says));
    for (const auto& [client_and_why, metrics] : legend.unavailable)
        lines.push_back(
            fmt::format("{}: {} of {}", kUnknown, fmt::join(metrics, ", "), client_and_why));
    if (lines.empty())
        return {};
    return (format == Format::markdown ? "\n---\n\n" : "\n") + list_of(lines, format);
}

std::string block_text(const Block& block, const TableStyle& style, Legend& legend) {
    const bool is_markdown = style.format == Format::markdown;
    std::string out =
        is_markdown
            ? fmt::format("\n### `{}`\n\n{}\n\n{}\n", block.point.id, line_of(block),
                          block.point.question)
            : fmt::format("\n{}  {}\n{}\n", painted(block.point.id, Paint::bold, style.use_colour),
                          line_of(block),
                          painted(block.point.question, Paint::dim, style.use_colour));
    const std::string table = table_of(block, style, legend);
    const std::string notes = list_of(notes_of(block, style, legend), style.format);
    if (!table.empty())
        out += '\n' + table;
    if (!notes.empty())
        out += '\n' + notes;
    if (style.has_plots && !is_markdown)
        out += plots_of(block, style);
    return out;
}

std::string qos_words(std::uint32_t bits) {
    std::vector<int> levels;
    for (int qos = 0; qos < 3; ++qos)
        if (bits >> qos & 1u)
            levels.push_back(qos);
    return levels.empty() ? std::string("none") : fmt::format("{}", fmt::join(levels, " "));
}

} // namespace

std::string standing_text(const Json& standing, const TableStyle& style) {
    const Node node(&standing);
    if (!node)
        return {};
    std::string title = node.text("standing");
    std::ranges::transform(title, title.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return label_text({title, {fmt::format("{} ({})", node.text("reason"), node.text("at"))}},
                      style);
}

std::string campaign_table(const Json& manifest, std::span<const Cell> cells,
                           const TableStyle& style) {
    const std::vector<Block> blocks = blocks_of(manifest, cells, style.sort);
    std::string out;
    for (const Label& label : labels_of(manifest, blocks))
        out += label_text(label, style);
    out += head_of(manifest) + floor_line_of(manifest) + acknowledgement_line_of(manifest);
    Legend legend;
    for (const Block& block : blocks)
        out += block_text(block, style, legend);
    return out + legend_text(legend, style.format);
}

std::vector<std::string_view> metrics_shown(verdict::Load load) {
    std::vector<std::string_view> ids;
    for (const BlockColumn& column : columns_for(load))
        ids.push_back(column.metric);
    return ids;
}

std::string point_in_words(const Json& point) {
    return line_of(
        Block{.point = point_from(Node(&point)), .cells = {}, .refused = {}, .not_run = {}});
}

std::string points_table(std::span<const Point> points, std::span<const RefusedPair> refused,
                         const TableStyle& style) {
    TextTable table({{"point", Align::left},
                     {"kind", Align::left},
                     {"QoS", Align::right},
                     {"payload", Align::right},
                     {"load", Align::left},
                     {"protocol", Align::left},
                     {"question", Align::left}});
    for (const Point& point : points) {
        const bool has_messages = point.kind != Kind::idle;
        table.add({{point.id, Paint::bold},
                   {std::string(scenario::name_of(point.kind))},
                   {has_messages ? std::to_string(point.qos) : std::string()},
                   {has_messages ? verdict::payload_in_words(point) : std::string()},
                   {verdict::load_in_words(point)},
                   {protocol_of(point)},
                   {point.question, Paint::dim}});
    }
    std::string out = table.print(style.format, style.use_colour);
    if (refused.empty())
        return out;
    TextTable pairs({{"unsupported", Align::left}, {"point", Align::left}, {"lacks", Align::left}});
    for (const RefusedPair& pair : refused)
        pairs.add({{pair.client, Paint::bold},
                   {pair.point},
                   {fmt::format("{}", fmt::join(pair.missing, ", "))}});
    return out + '\n' + pairs.print(style.format, style.use_colour);
}

std::string clients_table(std::span<const driver::Descriptor> clients,
                          const std::map<std::string, std::string>& versions,
                          const TableStyle& style) {
    TextTable table({{"client", Align::left},
                     {"library", Align::left},
                     {"version", Align::left},
                     {"shape", Align::left},
                     {"MQTT", Align::left},
                     {"publish QoS", Align::left},
                     {"subscribe QoS", Align::left},
                     {"QoS 0 completion", Align::left},
                     {"features", Align::left}});
    for (const driver::Descriptor& client : clients) {
        const auto version = versions.find(client.id);
        const driver::Claims& claims = client.claims;
        table.add(
            {{client.id, Paint::bold},
             {client.library},
             {version == versions.end() ? std::string(kUnknown) : version->second},
             {std::string(driver::name_of_shape(claims.shape))},
             {fmt::format("{}", fmt::join(driver::names_of_protocols(claims.protocols), " "))},
             {qos_words(claims.publish_qos)},
             {qos_words(claims.subscribe_qos)},
             {std::string(driver::name_of_qos0_completion(claims.qos0_completion))},
             {fmt::format("{}", fmt::join(driver::names_of_features(claims.features), " "))}});
    }
    TextTable variants({{"variant", Align::left}, {"what it is", Align::left}});
    bool has_variants = false;
    for (const driver::Descriptor& client : clients)
        for (const driver::Variant& variant : client.variants) {
            variants.add(
                {{fmt::format("{}:{}", client.id, variant.name), Paint::bold}, {variant.summary}});
            has_variants = true;
        }
    return table.print(style.format, style.use_colour) +
           (has_variants ? "\n" + variants.print(style.format, style.use_colour) : "");
}

} // namespace mqcore::report
