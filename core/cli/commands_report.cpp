// Commands about stored results: show (tables and exports), report (the site).

#include "campaign/store.hpp"
#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/terminal.hpp"
#include "report/cells.hpp"
#include "report/consumers.hpp"
#include "report/document.hpp"
#include "report/export.hpp"
#include "report/profile.hpp"
#include "report/selection.hpp"
#include "report/site.hpp"
#include "report/table.hpp"
#include "support/text.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Error;
using support::ErrorCode;
using support::Json;
using support::Result;
using verdict::Cell;

struct ShowOptions {
    std::string folder, format = "text", sort, histogram = "transit";
    report::Selection selection;
};

Error unknown(std::string_view what, const std::string& word,
              const std::vector<std::string>& known) {
    const auto near = support::nearest(word, known);
    return {ErrorCode::wrong_input, fmt::format("there is no {} '{}'", what, support::brief(word)),
            near ? fmt::format("did you mean '{}'?", *near)
                 : fmt::format("there is {}", fmt::join(known, ", "))};
}

struct Shown {
    Json manifest, standing;
    std::vector<Cell> cells;
    std::vector<Json> failed; // runs that are not valid
};

using Text = Result<std::string>;

Text table(const Shown& shown, const ShowOptions& options, report::Format format) {
    const bool is_text = format == report::Format::text;
    const report::TableStyle style{.format = format,
                                   .use_colour = is_text && wants_colour(1),
                                   .sort = options.sort,
                                   .has_plots = is_text && !options.selection.points.empty()};
    return report::standing_text(shown.standing, style) +
           report::campaign_table(shown.manifest, shown.cells, style) +
           report::consumers_text(shown.failed, style) +
           report::profile_text(shown.manifest, options.folder, style);
}

Text hdr(const Shown& shown, const ShowOptions& options, const std::string&) {
    if (shown.cells.size() != 1)
        return Error{
            ErrorCode::wrong_input,
            fmt::format("percentile text is of one client on one point, these are {} cells",
                        shown.cells.size()),
            "name them with --point and --client"};
    const Cell& cell = shown.cells.front();
    const auto found = cell.histograms.find(options.histogram);
    if (found != cell.histograms.end())
        return report::hdr_text(found->second);
    std::vector<std::string> known;
    for (const auto& [name, histogram] : cell.histograms)
        known.push_back(name);
    return Error{ErrorCode::wrong_input,
                 fmt::format("{} on {} has no histogram '{}'", cell.client, cell.point,
                             support::brief(options.histogram)),
                 known.empty() ? "it has no valid run with a latency"
                               : fmt::format("it has {}", fmt::join(known, ", "))};
}

Text benchmark(const Shown& shown, verdict::Direction direction) {
    return support::print_json_pretty(
        report::benchmark_json(shown.manifest, shown.cells, direction));
}

// Everything that `show --format` can print. `runs`: rows that were made while the runs were read.
struct ShowFormat {
    const char* name;
    const char* help;
    Text (*print)(const Shown& shown, const ShowOptions& options, const std::string& runs);
    // Makes them of one cell's runs; null: the format shows cells.
    std::string (*rows)(const Json& manifest, std::span<const Json> runs) = nullptr;
};

constexpr ShowFormat kFormats[] = {
    {"text", "tables, with plots where --point is given",
     [](const Shown& shown, const ShowOptions& options, const std::string&) {
         return table(shown, options, report::Format::text);
     }},
    {"markdown", "the same tables",
     [](const Shown& shown, const ShowOptions& options, const std::string&) {
         return table(shown, options, report::Format::markdown);
     }},
    {"json", "cells with values, intervals and places",
     [](const Shown& shown, const ShowOptions&, const std::string&) -> Text {
         return support::print_json_pretty(
             report::campaign_json(shown.manifest, shown.standing, shown.cells));
     }},
    {"document", "everything, as the report's pages read it",
     [](const Shown& shown, const ShowOptions&, const std::string&) -> Text {
         support::JsonObject document =
             report::campaign_document(shown.manifest, shown.standing, shown.cells);
         document["methodology"] = report::methodology_document();
         return support::print_json_pretty(document);
     }},
    {"csv", "one row a client and point",
     [](const Shown& shown, const ShowOptions&, const std::string&) -> Text {
         return report::cells_csv(shown.manifest, shown.cells);
     }},
    {"csv-runs", "one row a run",
     [](const Shown&, const ShowOptions&, const std::string& runs) -> Text {
         return report::runs_csv_header() + runs;
     },
     report::runs_csv},
    {"csv-series", "one row an interval of a run: counts, latency and processor time over time",
     [](const Shown&, const ShowOptions&, const std::string& runs) -> Text {
         if (runs.empty())
             return Error{ErrorCode::wrong_input, "none of these runs was recorded over time",
                          "an older mqcore counted whole runs only"};
         return report::series_csv_header() + runs;
     },
     report::series_csv},
    {"openmetrics", "for Prometheus and its kin",
     [](const Shown& shown, const ShowOptions&, const std::string&) -> Text {
         return report::openmetrics(shown.manifest, shown.cells);
     }},
    {"benchmark-bigger", "for continuous-benchmark services: metrics of which more is better",
     [](const Shown& shown, const ShowOptions&, const std::string&) {
         return benchmark(shown, verdict::Direction::higher);
     }},
    {"benchmark-smaller", "the same, metrics of which less is better",
     [](const Shown& shown, const ShowOptions&, const std::string&) {
         return benchmark(shown, verdict::Direction::lower);
     }},
    {"hdr", "HdrHistogram's percentile text of one cell, in microseconds", hdr},
};

int show(const ShowOptions& options) {
    std::vector<std::string> formats, metrics;
    for (const ShowFormat& format : kFormats)
        formats.emplace_back(format.name);
    for (const verdict::MetricEntry& entry : verdict::metrics())
        metrics.push_back(entry.id);
    const auto format = std::ranges::find(formats, options.format);
    if (format == formats.end())
        return report_error(unknown("format", options.format, formats));
    if (!options.sort.empty() && !verdict::find_metric(options.sort))
        return report_error(unknown("metric", options.sort, metrics));
    Result<Json> manifest = campaign::read_manifest(options.folder);
    if (!manifest)
        return report_error(manifest.error());
    Result<Json> standing = campaign::read_standing(options.folder);
    if (!standing)
        return report_error(standing.error());
    Shown shown{.manifest = *manifest, .standing = *standing, .cells = {}, .failed = {}};
    if (const auto selected = report::select(shown.manifest, options.selection); !selected)
        return report_error(selected.error());
    std::string runs;
    const ShowFormat& chosen = kFormats[format - formats.begin()];
    const auto read =
        campaign::visit_cells(options.folder, *manifest, [&](std::span<const Json> documents) {
            const Json& first = documents.front();
            if (!report::has_pair(shown.manifest, support::text_or(first, "client_name", ""),
                                  support::text_or(first, "point", "")))
                return;
            if (chosen.rows)
                runs += chosen.rows(shown.manifest, documents);
            else
                shown.cells.push_back(verdict::aggregate(documents));
            for (const Json& run : documents)
                if (support::text_or(run, "status", "") != "valid")
                    shown.failed.emplace_back(run, boost::json::storage_ptr());
        });
    if (!read)
        return report_error(read.error());
    const Text text = chosen.print(shown, options, runs);
    if (!text)
        return report_error(text.error());
    fmt::print("{}", *text);
    return kDone;
}

int report_site(const report::SiteOptions& options) {
    const Result<report::WrittenSite> site = report::write_site(options);
    if (!site)
        return report_error(site.error());
    for (const std::string& why : site->left_out)
        fmt::print(stderr, "mqcore: warning: left out: {}\n", why);
    fmt::print("{} {} in {}: open {} in a browser\n", site->campaigns.size(),
               site->campaigns.size() == 1 ? "campaign" : "campaigns", options.output.string(),
               (options.output / "index.html").string());
    return kDone;
}

} // namespace

std::function<int()> declare_show(CLI::App& app) {
    auto options = std::make_shared<ShowOptions>();
    app.add_option("campaign", options->folder, "A results folder")->required()->type_name("DIR");
    app.add_option("--point", options->selection.points, "Only these points, with plots")
        ->delimiter(',')
        ->type_name("ID");
    app.add_option("--client", options->selection.clients, "Only these clients")
        ->delimiter(',')
        ->type_name("ID");
    app.add_option("--sort", options->sort, "Best cells first by this metric")->type_name("METRIC");
    std::string formats = "What to print:", names;
    for (const ShowFormat& format : kFormats) {
        formats += fmt::format("\n{}: {}", format.name, format.help);
        names += fmt::format("{}{}", names.empty() ? "" : ",", format.name);
    }
    app.add_option("--format", options->format, formats)
        ->capture_default_str()
        ->type_name("{" + names + "}");
    app.add_option("--histogram", options->histogram, "For hdr: which histogram")
        ->capture_default_str()
        ->type_name("{transit,since_due,lag,receive_transit,receive_since_due}");
    return [options] { return show(*options); };
}

std::function<int()> declare_report(CLI::App& app) {
    auto results = std::make_shared<std::string>();
    auto output = std::make_shared<std::string>("site");
    app.add_option("results", *results, "A results folder, or a folder of them")
        ->required()
        ->type_name("DIR");
    app.add_option("--output", *output, "A new folder, or one that this command made")
        ->capture_default_str()
        ->type_name("DIR");
    return [=] {
        return report_site({.results = *results,
                            .output = *output,
                            .page = Installation::find().share / "report"});
    };
}

} // namespace mqcore::cli
