#include "report/export.hpp"

#include "report/document.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace mqcore::report {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Cell;
using verdict::Column;
using verdict::Node;
using verdict::ReceivedSeries;
using verdict::SentSeries;
using verdict::Series;
using verdict::Status;
using verdict::Unit;

std::string field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == text.npos)
        return std::string(text);
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string field(const verdict::Number& number) {
    return number ? fmt::format("{}", *number) : std::string();
}

std::string row(const std::vector<std::string>& fields) {
    return fmt::format("{}\n", fmt::join(fields, ","));
}

// What a row of either kind begins with.
constexpr std::string_view kPlaceColumns[] = {"campaign", "created", "comparable", "client",
                                              "point",    "kind",    "qos",        "bytes",
                                              "offer",    "load",    "protocol",   "tls"};

std::vector<std::string> place_of(const Json& manifest, Node spec, const std::string& client,
                                  const std::string& point) {
    const Node root(&manifest);
    const bool is_capacity = spec.boolean("capacity").value_or(false);
    const verdict::Number rate = spec.number("rate");
    return {field(root.text("id")),
            field(root.text("created")),
            root.boolean("comparable").value_or(false) ? "true" : "false",
            field(client),
            field(point),
            field(spec.text("kind")),
            fmt::format("{}", spec.count("qos").value_or(0)),
            fmt::format("{}", fmt::join(spec.counts("payload_bytes"), " ")),
            field(rate),
            is_capacity ? "capacity"
            : rate      ? "fixed"
                        : "idle",
            field(spec.text("protocol")),
            spec.boolean("tls").value_or(false) ? "true" : "false"};
}

std::vector<std::string> header_with(std::initializer_list<const char*> more) {
    std::vector<std::string> columns(std::begin(kPlaceColumns), std::end(kPlaceColumns));
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
}

// What a party counted over time; null: it does not do that on this point.
struct SeriesColumn {
    const char* name;
    const Column* (*of)(const Series& series);
};

template <class Part>
const Column* column_in(const std::optional<Part>& part, Column Part::*column) {
    return part ? &((*part).*column) : nullptr;
}

constexpr SeriesColumn kSeriesColumns[] = {
    {"client_sent",
     [](const Series& series) { return column_in(series.client.send, &SentSeries::sent); }},
    {"client_completed",
     [](const Series& series) { return column_in(series.client.send, &SentSeries::completed); }},
    {"client_arrived",
     [](const Series& series) {
         return column_in(series.client.receive, &ReceivedSeries::arrived);
     }},
    {"client_slowest_us",
     [](const Series& series) {
         return column_in(series.client.receive, &ReceivedSeries::slowest_us);
     }},
    {"peer_sent",
     [](const Series& series) { return column_in(series.peer.send, &SentSeries::sent); }},
    {"peer_completed",
     [](const Series& series) { return column_in(series.peer.send, &SentSeries::completed); }},
    {"peer_arrived",
     [](const Series& series) { return column_in(series.peer.receive, &ReceivedSeries::arrived); }},
    {"peer_slowest_us",
     [](const Series& series) {
         return column_in(series.peer.receive, &ReceivedSeries::slowest_us);
     }},
};

// An OpenMetrics name ends in its base unit, which a value is multiplied to.
struct BaseUnit {
    Unit unit;
    std::string_view in_id; // what the metric's id says instead
    std::string_view name;
    double factor;
};
constexpr BaseUnit kBaseUnits[] = {
    {Unit::per_second, "", "per_second", 1},      {Unit::microseconds, "_us", "seconds", 1e-6},
    {Unit::milliseconds, "_ms", "seconds", 1e-3}, {Unit::percent, "_percent", "ratio", 1e-2},
    {Unit::kibibytes, "_kib", "bytes", 1024},     {Unit::count, "", "", 1}};

const BaseUnit& base_of(Unit unit) { return *std::ranges::find(kBaseUnits, unit, &BaseUnit::unit); }

std::string family_of(const verdict::MetricEntry& entry) {
    const BaseUnit& base = base_of(entry.unit);
    std::string name = "mqcore_" + entry.id;
    if (const std::size_t at = name.find(base.in_id); !base.in_id.empty() && at != name.npos)
        name.erase(at, base.in_id.size());
    return base.name.empty() ? name : fmt::format("{}_{}", name, base.name);
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '\\'   ? std::string("\\\\")
               : c == '"'  ? std::string("\\\"")
               : c == '\n' ? std::string("\\n")
                           : std::string(1, c);
    return out;
}

std::string labels_of(const Json& manifest, const Cell& cell) {
    return fmt::format(R"(campaign="{}",client="{}",point="{}")",
                       escaped(support::text_or(manifest, "id", "")), escaped(cell.client),
                       escaped(cell.point));
}

} // namespace

std::string cells_csv(const Json& manifest, std::span<const Cell> cells) {
    std::vector<std::string> columns =
        header_with({"status", "party", "reason", "runs", "valid_runs", "regime", "flags"});
    for (const verdict::MetricEntry& entry : verdict::metrics())
        for (const char* part : {"", "_lowest", "_highest"})
            columns.push_back(entry.id + part);
    std::string out = row(columns);
    for (const Cell& cell : cells) {
        std::vector<std::string> fields =
            place_of(manifest, Node(&cell.spec), cell.client, cell.point);
        std::vector<std::string> flags;
        for (const auto& [id, runs] : cell.flags)
            flags.push_back(id);
        for (const std::string& text : {std::string(name_of(cell.status)), cell.party, cell.reason,
                                        std::to_string(cell.runs), std::to_string(cell.valid_runs),
                                        cell.regime, fmt::format("{}", fmt::join(flags, " "))})
            fields.push_back(field(text));
        for (const verdict::MetricEntry& entry : verdict::metrics()) {
            const auto found = cell.metrics.find(entry.id);
            const verdict::CellMetric metric =
                found == cell.metrics.end() ? verdict::CellMetric{} : found->second;
            const auto range = verdict::range_of(metric);
            fields.push_back(field(metric.value));
            fields.push_back(field(range ? verdict::Number(range->low) : std::nullopt));
            fields.push_back(field(range ? verdict::Number(range->high) : std::nullopt));
        }
        out += row(fields);
    }
    return out;
}

std::string runs_csv_header() {
    std::vector<std::string> columns = header_with(
        {"run", "attempt", "started_at", "status", "party", "reason", "regime", "flags"});
    for (const verdict::MetricEntry& entry : verdict::metrics())
        columns.push_back(entry.id);
    return row(columns);
}

std::string runs_csv(const Json& manifest, std::span<const Json> runs) {
    std::string out;
    for (const Json& document : runs) {
        const Node run(&document);
        std::vector<std::string> fields =
            place_of(manifest, run["spec"], run.text("client_name"), run.text("point"));
        std::vector<std::string> flags;
        if (const Node list = run["flags"]; list && list.json()->is_array())
            for (const Json& flag : list.json()->get_array())
                flags.push_back(Node(&flag).text("id"));
        for (const std::string& text :
             {std::to_string(run.count("run").value_or(0)),
              std::to_string(run.count("attempt").value_or(1)), run.text("started_at"),
              run.text("status"), run.text("party"), run.text("reason"), run.text("regime"),
              fmt::format("{}", fmt::join(flags, " "))})
            fields.push_back(field(text));
        for (const verdict::MetricEntry& entry : verdict::metrics())
            fields.push_back(field(run["metrics"].number(entry.id)));
        out += row(fields);
    }
    return out;
}

std::string series_csv_header() {
    std::vector<std::string> columns = header_with(
        {"run", "attempt", "status", "interval", "phase", "begin_s", "length_s", "due"});
    for (const SeriesColumn& column : kSeriesColumns)
        columns.emplace_back(column.name);
    columns.insert(columns.end(), {"client_cores", "broker_cores"});
    return row(columns);
}

std::string series_csv(const Json& manifest, std::span<const Json> runs) {
    std::string out;
    for (const Json& document : runs) {
        const Node run(&document);
        const auto series = verdict::series_of(verdict::RunView(document));
        if (!series)
            continue;
        std::vector<std::string> lead =
            place_of(manifest, run["spec"], run.text("client_name"), run.text("point"));
        for (const std::string& text :
             {std::to_string(run.count("run").value_or(0)),
              std::to_string(run.count("attempt").value_or(1)), run.text("status")})
            lead.push_back(field(text));
        for (std::size_t interval = 0; interval <= series->intervals.size(); ++interval) {
            const auto value_in = [&](const Column* column) {
                return column && interval < column->size() && (*column)[interval]
                           ? std::to_string(*(*column)[interval])
                           : std::string();
            };
            const auto cores_in = [&](const std::vector<verdict::Number>& column) {
                return interval < column.size() && column[interval]
                           ? fmt::format("{:.6g}", *column[interval])
                           : std::string();
            };
            std::vector<std::string> fields = lead;
            fields.push_back(std::to_string(interval));
            fields.emplace_back(series->phase(interval));
            fields.push_back(fmt::format("{:.9g}", series->begin_s(interval)));
            fields.push_back(fmt::format("{:.9g}", series->length_s(interval)));
            fields.push_back(value_in(&series->due));
            for (const SeriesColumn& column : kSeriesColumns)
                fields.push_back(value_in(column.of(*series)));
            fields.push_back(cores_in(series->client_cores));
            fields.push_back(cores_in(series->broker_cores));
            out += row(fields);
        }
    }
    return out;
}

std::string openmetrics(const Json& manifest, std::span<const Cell> cells) {
    const Node root(&manifest);
    std::string out = fmt::format(
        "# TYPE mqcore_campaign info\n# HELP mqcore_campaign What the numbers below belong to.\n"
        "mqcore_campaign_info{{campaign=\"{}\",created=\"{}\",comparable=\"{}\",mqcore=\"{}\"}} 1\n"
        "# TYPE mqcore_runs gauge\n# HELP mqcore_runs Runs of a client on a point, by status.\n",
        escaped(root.text("id")), escaped(root.text("created")),
        root.boolean("comparable").value_or(false), escaped(root["mqcore"].text("version")));
    for (const Cell& cell : cells)
        for (const auto& [status, count] : cell.by_status)
            out += fmt::format("mqcore_runs{{{},status=\"{}\"}} {}\n", labels_of(manifest, cell),
                               name_of(status), count);
    for (const verdict::MetricEntry& entry : verdict::metrics()) {
        const BaseUnit& base = base_of(entry.unit);
        const std::string family = family_of(entry);
        std::string samples;
        for (const Cell& cell : cells)
            if (const auto found = cell.metrics.find(entry.id);
                found != cell.metrics.end() && found->second.value)
                samples += fmt::format("{}{{{}}} {:.9g}\n", family, labels_of(manifest, cell),
                                       *found->second.value * base.factor);
        if (samples.empty())
            continue;
        out += fmt::format("# TYPE {} gauge\n", family);
        if (!base.name.empty())
            out += fmt::format("# UNIT {} {}\n", family, base.name);
        out += fmt::format("# HELP {} {}\n{}", family, escaped(entry.says), samples);
    }
    return out + "# EOF\n";
}

JsonArray benchmark_json(const Json& manifest, std::span<const Cell> cells,
                         verdict::Direction direction) {
    const bool is_comparable = Node(&manifest).boolean("comparable").value_or(false);
    JsonArray all;
    for (const Cell& cell : cells)
        for (const verdict::MetricEntry& entry : verdict::metrics()) {
            const auto found = cell.metrics.find(entry.id);
            if (entry.direction != direction || cell.status != Status::valid ||
                found == cell.metrics.end() || !found->second.value)
                continue;
            const verdict::CellMetric& metric = found->second;
            JsonObject item{
                {"name", fmt::format("{} / {} / {}", cell.point, cell.client, entry.id)},
                {"unit", verdict::symbol_of(entry.unit)},
                {"value", *metric.value}};
            if (const auto range = verdict::range_of(metric); range && range->low != range->high)
                item["range"] = fmt::format("{:.6g} to {:.6g}", range->low, range->high);
            std::vector<std::string> flags;
            for (const auto& [id, runs] : cell.flags)
                flags.push_back(id);
            item["extra"] =
                fmt::format("{}\nvalid runs: {} of {}\ncomparable: {}\nflags: {}", entry.says,
                            cell.valid_runs, cell.runs, is_comparable,
                            flags.empty() ? "none" : fmt::format("{}", fmt::join(flags, ", ")));
            all.push_back(std::move(item));
        }
    return all;
}

std::string hdr_text(const measure::Histogram& histogram) {
    std::string out = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                  "TotalCount", "1/(1-Percentile)");
    for (const PercentileStep& step : percentile_curve(histogram)) {
        const double value_us = static_cast<double>(step.value_ns) * 1e-3;
        out += fmt::format("{:12.3f} {:2.12f} {:10}", value_us, step.quantile, step.count);
        out += step.quantile < 1 ? fmt::format(" {:14.2f}\n", 1 / (1 - step.quantile)) : "\n";
    }
    const double mean_ns = histogram.mean().value_or(0);
    double squares = 0; // of the distances of the buckets' middles
    for (std::size_t bucket = 0; bucket < measure::Histogram::kBuckets; ++bucket)
        if (const auto count = static_cast<double>(histogram.bucket_count(bucket)); count > 0) {
            const double middle = (static_cast<double>(measure::Histogram::lowest_of(bucket)) +
                                   static_cast<double>(measure::Histogram::highest_of(bucket))) /
                                  2;
            squares += count * (middle - mean_ns) * (middle - mean_ns);
        }
    const auto count = static_cast<double>(histogram.count());
    out += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", mean_ns * 1e-3,
                       count > 0 ? std::sqrt(squares / count) * 1e-3 : 0);
    out += fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n",
                       static_cast<double>(histogram.max().value_or(0)) * 1e-3, histogram.count());
    return out + fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n",
                             measure::Histogram::kBuckets >> measure::Histogram::kSubBits,
                             1u << measure::Histogram::kSubBits);
}

} // namespace mqcore::report
