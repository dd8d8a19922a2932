#include "report/table.hpp"

#include "report/text_plot.hpp"
#include "support/text.hpp"
#include "verdict/explain.hpp"
#include "verdict/limits.hpp"

#include <algorithm>
#include <fmt/format.h>
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

// A number with three digits that mean something: 0.042, 4.21, 42.1, 421, 4,210.
std::string short_number(double value) {
    const double size = value < 0 ? -value : value;
    if (size >= 999.5)
        return support::format_count(static_cast<std::uint64_t>(size + 0.5));
    return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string formatted(double value, verdict::Unit unit) {
    switch (unit) {
    case verdict::Unit::per_second:
        return short_number(value);
    case verdict::Unit::microseconds:
        return support::format_duration(value * 1e3);
    case verdict::Unit::milliseconds:
        return support::format_duration(value * 1e6);
    case verdict::Unit::percent:
        return fmt::format("{:.{}f} %", value, value < 9.95 ? 1 : 0);
    case verdict::Unit::kibibytes:
        return fmt::format("{:.1f} MiB", value / 1024);
    case verdict::Unit::count:
        return value == static_cast<double>(static_cast<std::uint64_t>(value))
                   ? support::format_count(static_cast<std::uint64_t>(value))
                   : short_number(value);
    }
    return {};
}

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
    std::vector<const Cell*> cells; // in the manifest's order of clients; ranked at capacity
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
        return fmt::format("{}, {}", scenario::name_of(point.kind), protocol_of(point));
    return fmt::format("{}, QoS {}, {}, {}, {}", scenario::name_of(point.kind), point.qos,
                       verdict::payload_in_words(point), verdict::load_in_words(point),
                       protocol_of(point));
}

std::vector<RefusedPair> refused_pairs(const Json& manifest) {
    std::vector<RefusedPair> pairs;
    for (const Json* item : items_of(Node(&manifest)["refused"])) {
        const Node pair(item);
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

std::vector<Block> blocks_of(const Json& manifest, std::span<const Cell> cells,
                             std::string_view sort) {
    const std::vector<RefusedPair> refused = refused_pairs(manifest);
    std::vector<Block> blocks;
    for (const Json* item : items_of(Node(&manifest)["points"])) {
        Block block{.point = point_from(Node(item)), .cells = {}, .refused = {}, .not_run = {}};
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
        blocks.push_back(std::move(block));
    }
    return blocks;
}

std::vector<BlockColumn> columns_of(const Block& block, std::string_view sort) {
    const std::span<const BlockColumn> usual = block.point.is_capacity ? kCapacityColumns
                                               : block.point.rate
                                                   ? std::span<const BlockColumn>(kFixedColumns)
                                                   : kIdleColumns;
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
    bool has_spread = false;
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

// Largest less smallest of the runs, against the median.
TextCell spread_cell(const Cell& cell, Legend& legend) {
    const auto found = cell.metrics.find("rate");
    if (cell.valid_runs < 2 || found == cell.metrics.end() || found->second.value.value_or(0) <= 0)
        return {};
    legend.has_spread = true;
    return {fmt::format("{:.1f} %", 100 * (*found->second.highest - *found->second.lowest) /
                                        *found->second.value)};
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
    const bool is_ranked = block.point.is_capacity;
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
    if (is_ranked)
        columns.push_back({"spread", Align::right});
    columns.push_back({"runs", Align::right});
    if (has_regime)
        columns.push_back({"regime", Align::left});
    columns.push_back({"flags", Align::left});

    TextTable table(std::move(columns));
    std::size_t rank = 0;
    for (const Cell* cell : block.cells) {
        if (cell->status != Status::valid)
            continue;
        std::vector<TextCell> row;
        if (is_ranked)
            row.push_back({std::to_string(++rank)});
        row.push_back({cell->client, Paint::bold});
        for (const BlockColumn& column : shown)
            row.push_back(value_cell(*cell, column, legend));
        if (is_ranked)
            row.push_back(spread_cell(*cell, legend));
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

// Lines below a table: what has no row in it, and why.
std::vector<std::string> notes_of(const Block& block, const TableStyle& style) {
    std::vector<std::string> notes;
    for (const Cell* cell : block.cells)
        if (cell->status != Status::valid)
            notes.push_back(fmt::format(
                "{} {}{}: {}", cell->client,
                painted(name_of(cell->status),
                        cell->status == Status::not_sustained ? Paint::yellow : Paint::red,
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
    std::vector<std::string> parts = {
        fmt::format("campaign {}", root.text("id")),
        fmt::format("profile {} ({} warm-up, {} window, {} run{})", profile.text("name"),
                    seconds_of(profile, "warmup_ns"), seconds_of(profile, "window_ns"),
                    profile.count("runs").value_or(1),
                    profile.count("runs").value_or(1) == 1 ? "" : "s")};
    if (const std::string version = broker.text("version"); !version.empty())
        parts.push_back("Mosquitto " + version);
    if (const std::string version = root["mqcore"].text("version"); !version.empty())
        parts.push_back("mqcore " + version);
    return fmt::format("{}\n", fmt::join(parts, " · "));
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
    if (legend.has_spread)
        lines.push_back("spread: largest less smallest of the valid runs, against their median.");
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
    const std::string notes = list_of(notes_of(block, style), style.format);
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

std::string campaign_table(const Json& manifest, std::span<const Cell> cells,
                           const TableStyle& style) {
    const std::vector<Block> blocks = blocks_of(manifest, cells, style.sort);
    std::string out;
    for (const Label& label : labels_of(manifest, blocks))
        out += label_text(label, style);
    out += head_of(manifest);
    Legend legend;
    for (const Block& block : blocks)
        out += block_text(block, style, legend);
    return out + legend_text(legend, style.format);
}

std::string point_in_words(const Json& point) {
    return line_of(
        Block{.point = point_from(Node(&point)), .cells = {}, .refused = {}, .not_run = {}});
}

std::string points_table(std::span<const scenario::Scenario> scenarios,
                         std::span<const RefusedPair> refused, const TableStyle& style) {
    TextTable points({{"point", Align::left},
                      {"kind", Align::left},
                      {"QoS", Align::right},
                      {"payload", Align::right},
                      {"load", Align::left},
                      {"protocol", Align::left},
                      {"question", Align::left}});
    for (const scenario::Scenario& scenario : scenarios)
        for (const Point& point : scenario.points) {
            const bool has_messages = point.kind != Kind::idle;
            points.add({{point.id, Paint::bold},
                        {std::string(scenario::name_of(point.kind))},
                        {has_messages ? std::to_string(point.qos) : std::string()},
                        {has_messages ? verdict::payload_in_words(point) : std::string()},
                        {verdict::load_in_words(point)},
                        {protocol_of(point)},
                        {point.question, Paint::dim}});
        }
    std::string out = points.print(style.format, style.use_colour);
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
    return table.print(style.format, style.use_colour);
}

} // namespace mqcore::report
