#include "report/comparison.hpp"

#include "report/figures.hpp"

#include <fmt/format.h>
#include <map>

namespace mqcore::report {
namespace {

using campaign::CampaignComparison;
using campaign::ComparedPair;
using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Comparison;

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

std::string value_text(verdict::Number value, const verdict::MetricEntry& metric) {
    return value ? formatted(*value, metric.unit) : std::string("n/a");
}

std::string interval_text(const Comparison& comparison) {
    return comparison.interval ? fmt::format("{} to {}", percent(comparison.interval->low),
                                             percent(comparison.interval->high))
                               : std::string();
}

Paint paint_of(const Comparison& comparison) {
    const int gain = verdict::gain_of(comparison);
    return gain > 0 ? Paint::green : gain < 0 ? Paint::red : Paint::none;
}

Json number_or_null(verdict::Number value) { return value ? Json(*value) : Json(nullptr); }

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

std::string text_of(verdict::Number value) { return value ? fmt::format("{}", *value) : ""; }

} // namespace

std::string comparison_table(const CampaignComparison& comparison, const TableStyle& style) {
    std::string out;
    for (const std::string& warning : comparison.warnings)
        out += (style.format == Format::markdown ? "**" : "") +
               painted(warning, Paint::yellow, style.use_colour) +
               (style.format == Format::markdown ? "**\n\n" : "\n");
    out += fmt::format("{} against {}\n\n", comparison.second, comparison.first);
    TextTable table({{"point", Align::left},
                     {"client", Align::left},
                     {"metric", Align::left},
                     {"first", Align::right},
                     {"second", Align::right},
                     {"difference", Align::right},
                     {"interval", Align::right},
                     {"runs", Align::right},
                     {"verdict", Align::left}});
    std::map<std::string_view, std::size_t> words;
    for (const ComparedPair& pair : comparison.pairs) {
        const Comparison& what = pair.comparison;
        const verdict::MetricEntry& metric = *verdict::find_metric(what.metric);
        const std::string_view word = verdict::word_of(what);
        ++words[word];
        table.add({{pair.point, Paint::bold},
                   {pair.second},
                   {metric.title},
                   {value_text(pair.first_value, metric)},
                   {value_text(pair.second_value, metric)},
                   {what.ratio ? percent(*what.ratio) : std::string()},
                   {interval_text(what)},
                   {std::to_string(what.runs)},
                   {what.why.empty() ? std::string(word) : fmt::format("{}: {}", word, what.why),
                    paint_of(what)}});
    }
    out += table.print(style.format, style.use_colour, style.format == Format::markdown ? 0 : 2);
    std::vector<std::string> counts;
    for (const auto& [word, count] : words)
        counts.push_back(fmt::format("{} {}", count, word));
    return out + fmt::format("\n{}\n", fmt::join(counts, ", "));
}

std::string comparison_csv(const CampaignComparison& comparison) {
    std::string out =
        "point,first,second,metric,first_value,second_value,ratio,ratio_low,ratio_high,"
        "runs,verdict,why\n";
    for (const ComparedPair& pair : comparison.pairs) {
        const Comparison& what = pair.comparison;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", pair.point, pair.first,
                           pair.second, what.metric, text_of(pair.first_value),
                           text_of(pair.second_value), text_of(what.ratio),
                           what.interval ? fmt::format("{}", what.interval->low) : "",
                           what.interval ? fmt::format("{}", what.interval->high) : "", what.runs,
                           verdict::word_of(what), quoted(what.why));
    }
    return out;
}

Json comparison_json(const CampaignComparison& comparison) {
    JsonArray pairs;
    for (const ComparedPair& pair : comparison.pairs) {
        const Comparison& what = pair.comparison;
        pairs.push_back(JsonObject{
            {"point", pair.point},
            {"first", pair.first},
            {"second", pair.second},
            {"metric", what.metric},
            {"first_value", number_or_null(pair.first_value)},
            {"second_value", number_or_null(pair.second_value)},
            {"ratio", number_or_null(what.ratio)},
            {"interval", what.interval ? Json(JsonArray{what.interval->low, what.interval->high})
                                       : Json(nullptr)},
            {"runs", what.runs},
            {"verdict", verdict::word_of(what)},
            {"why", what.why.empty() ? Json(nullptr) : Json(what.why)}});
    }
    return JsonObject{
        {"format", "mqcore-comparison/1"},
        {"first", comparison.first},
        {"second", comparison.second},
        {"warnings", JsonArray(comparison.warnings.begin(), comparison.warnings.end())},
        {"confidence", verdict::kConfidence},
        {"resamples", verdict::kResamples},
        {"pairs", std::move(pairs)}};
}

} // namespace mqcore::report
