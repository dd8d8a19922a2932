#include "verdict/explain.hpp"

#include "support/text.hpp"
#include "verdict/limits.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using scenario::Point;
using scenario::Scenario;
using support::format_count;

std::string article(std::string_view id, std::string_view what, std::string_view title) {
    return title.empty() ? fmt::format("{} ({})\n", id, what)
                         : fmt::format("{} ({}): {}\n", id, what, title);
}

std::string paragraph(std::string_view label, std::string_view text) {
    constexpr std::size_t kWidth = 80;
    constexpr std::size_t kLabel = 12;
    std::string out = fmt::format("  {:<{}}", label, kLabel);
    std::size_t column = 2 + kLabel;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string_view word = text.substr(at, end - at);
        if (column > 2 + kLabel && column + 1 + word.size() > kWidth) {
            out += fmt::format("\n{:{}}", "", 2 + kLabel);
            column = 2 + kLabel;
        } else if (column > 2 + kLabel) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        at = end + 1;
    }
    return out + '\n';
}

std::string_view words_of(Direction direction) {
    constexpr std::string_view kWords[] = {"higher is better", "lower is better",
                                           "for reading only"};
    return kWords[static_cast<std::size_t>(direction)];
}

std::string number_of(double rate) {
    return rate == static_cast<double>(static_cast<std::uint64_t>(rate))
               ? format_count(static_cast<std::uint64_t>(rate))
               : fmt::format("{}", rate);
}

std::string explain_point(const Point& point) {
    std::string out = article(point.id, "point", point.question);
    out += paragraph("suite", point.suite);
    out += paragraph("kind", scenario::name_of(point.kind));
    if (point.kind != scenario::Kind::idle) {
        out += paragraph("QoS", std::to_string(point.qos));
        out += paragraph("payload", payload_in_words(point));
    }
    out += paragraph("load", load_in_words(point));
    out += paragraph("protocol", fmt::format("MQTT {}{}", measure::name_of(point.protocol),
                                             point.has_tls ? " over TLS" : ""));
    if (point.rate)
        out += paragraph("pacing", measure::name_of(point.pacing));
    return out;
}

std::string markdown_cell(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string points_markdown(std::span<const Scenario> scenarios) {
    std::string out = "## Points\n\n"
                      "| point | kind | QoS | payload | load | protocol | question |\n"
                      "|---|---|---|---|---|---|---|\n";
    for (const Scenario& scenario : scenarios)
        for (const Point& point : scenario.points)
            out += fmt::format("| `{}` | {} | {} | {} | {} | MQTT {}{} | {} |\n", point.id,
                               scenario::name_of(point.kind), point.qos, payload_in_words(point),
                               load_in_words(point), measure::name_of(point.protocol),
                               point.has_tls ? ", TLS" : "", markdown_cell(point.question));
    return out;
}

// Each entry is a heading, so that a result can link to it.
std::string item_markdown(std::string_view ids, std::string_view title, const Scope& scope,
                          std::string_view says, std::string_view computed) {
    return fmt::format("### {}\n\n{}Applies to {}.\n\n{} *How:* {}\n\n", ids,
                       title.empty() ? std::string() : fmt::format("**{}.** ", title),
                       in_words(scope), says, computed);
}

// One item for the percentiles of one histogram, which differ in nothing but the quantile.
std::string percentiles_markdown() {
    std::string out;
    const std::vector<MetricEntry>& all = metrics();
    for (auto first = all.begin(); first != all.end();) {
        const auto last = std::find_if(first, all.end(), [&](const MetricEntry& entry) {
            return entry.histogram != first->histogram;
        });
        if (!first->histogram.empty()) {
            std::string ids;
            for (auto entry = first; entry != last; ++entry)
                ids += fmt::format("{}`{}`", entry == first ? "" : ", ", entry->id);
            const std::size_t colon = first->says.find(": ");
            out += item_markdown(ids, {}, first->scope,
                                 fmt::format("Percentiles and maximum of the {} ({})",
                                             first->says.substr(colon + 2),
                                             unit_and_direction(*first)),
                                 first->computed);
        }
        first = last;
    }
    return out;
}

} // namespace

std::string unit_and_direction(const MetricEntry& entry) {
    const std::string_view unit = symbol_of(entry.unit);
    return fmt::format("{}{}{}", unit, unit.empty() ? "" : ", ", words_of(entry.direction));
}

std::string load_in_words(const Point& point) {
    if (!point.rate && !point.is_capacity)
        return point.is_direct ? "idle, direct" : "idle";
    const bool is_duplex = point.kind == scenario::Kind::duplex;
    std::string words =
        point.rate ? fmt::format("{} {}/s", number_of(*point.rate),
                                 point.kind == scenario::Kind::rtt ? "requests" : "messages")
                   : "capacity";
    if (is_duplex)
        words += " each way";
    if (!point.rate && point.qos > 0 && point.kind != scenario::Kind::sub)
        words += fmt::format(", {} in flight", point.window);
    if (point.topics > 1)
        words += fmt::format(", {} topics", format_count(point.topics));
    if (point.filters > 1)
        words += fmt::format(", {} callbacks", format_count(point.filters));
    if (point.receive_maximum)
        words += fmt::format(", Receive Maximum {}", point.receive_maximum);
    if (point.has_topic_alias)
        words += ", topic alias";
    if (!point.properties.is_empty())
        words += ", properties";
    if (point.is_direct)
        words += ", direct";
    return words;
}

std::string payload_in_words(const Point& point) {
    if (point.packets.empty())
        return support::format_bytes(point.payload_bytes);
    std::vector<std::string> lengths;
    for (const std::uint32_t bytes : point.packets)
        lengths.push_back(support::format_bytes(bytes));
    return fmt::format("packets of {}", fmt::join(lengths, ", "));
}

support::Result<std::string> explain(std::string_view id, std::span<const Scenario> scenarios) {
    for (const StatusEntry& entry : statuses())
        if (name_of(entry.status) == id)
            return article(id, "status", "") + paragraph("means", entry.says);
    if (const CheckEntry* check = find_check(id))
        return article(id, "check", check->title) + paragraph("says", check->says) +
               paragraph("applies to", in_words(check->scope)) +
               paragraph("computed", check->computed);
    if (const FlagEntry* flag = find_flag(id))
        return article(id, "flag", flag->title) + paragraph("says", flag->says) +
               paragraph("applies to", in_words(flag->scope)) +
               paragraph("raised when", flag->computed);
    if (const MetricEntry* metric = find_metric(id))
        return article(id, "metric", metric->title) + paragraph("says", metric->says) +
               paragraph("applies to", in_words(metric->scope)) +
               paragraph("computed", metric->computed) +
               paragraph("unit", unit_and_direction(*metric));
    for (const Scenario& scenario : scenarios)
        for (const Point& point : scenario.points)
            if (point.id == id)
                return explain_point(point);
    const std::vector<std::string> known = explainable_ids(scenarios);
    const auto near = support::nearest(id, known);
    return support::Error{
        support::ErrorCode::wrong_input,
        fmt::format("nothing is called '{}': no status, check, flag, metric or loaded point", id),
        near ? fmt::format("did you mean '{}'?", *near)
             : std::string("'mqcore explain' without an id lists them all")};
}

std::vector<std::string> explainable_ids(std::span<const Scenario> scenarios) {
    std::vector<std::string> ids;
    for (const StatusEntry& entry : statuses())
        ids.emplace_back(name_of(entry.status));
    const auto add = [&](const auto& entries) {
        for (const auto& entry : entries)
            ids.push_back(entry.id);
    };
    add(checks());
    add(flags());
    add(metrics());
    for (const Scenario& scenario : scenarios)
        add(scenario.points);
    return ids;
}

std::string methodology_markdown(std::span<const Scenario> scenarios) {
    std::string out = "## Statuses\n\n";
    for (const StatusEntry& entry : statuses())
        out += fmt::format("### `{}`\n\n{}\n\n", name_of(entry.status), entry.says);
    out += fmt::format("## Checks\n\nWhere counts of two parties are compared, {} messages and "
                       "{:.2f} % of the count are slack, because the broker's counters are read "
                       "from outside. Accounting by sequence number has none.\n\n",
                       kSlack, 100 * kSlackShare);
    const auto code = [](std::string_view id) { return fmt::format("`{}`", id); };
    for (const CheckEntry& entry : checks())
        out += item_markdown(code(entry.id), entry.title, entry.scope, entry.says, entry.computed);
    out += "## Flags\n\nA flag qualifies a run; it never changes its status.\n\n";
    for (const FlagEntry& entry : flags())
        out += item_markdown(code(entry.id), entry.title, entry.scope, entry.says, entry.computed);
    out += "## Metrics\n\nA value that could not be had is null, with the reason beside it; it is "
           "never 0.\n\n";
    for (const MetricEntry& entry : metrics())
        if (entry.histogram.empty())
            out += item_markdown(code(entry.id), {}, entry.scope,
                                 fmt::format("{} ({})", entry.says, unit_and_direction(entry)),
                                 entry.computed);
    out += percentiles_markdown();
    if (!scenarios.empty())
        out += points_markdown(scenarios) + '\n';
    out.pop_back(); // one line feed at the end
    return out;
}

} // namespace mqcore::verdict
