// Commands that set results against each other or against their raw data: compare, verify.

#include "campaign/compare.hpp"
#include "campaign/verify.hpp"
#include "cli/command.hpp"
#include "cli/terminal.hpp"
#include "report/comparison.hpp"
#include "support/quantity.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Error;
using support::ErrorCode;
using support::Result;

report::TableStyle style_of(const std::string& format) {
    return format == "markdown" ? report::TableStyle{.format = report::Format::markdown}
                                : report::TableStyle{.use_colour = wants_colour(1)};
}

struct CompareOptions {
    std::vector<std::string> folders;
    campaign::CompareRequest request;
    std::string fail_if_slower; // empty: never
    std::string format = "table";
};

Result<campaign::CampaignComparison> compared(const CompareOptions& options) {
    std::vector<campaign::StoredCampaign> campaigns;
    for (const std::string& folder : options.folders) {
        Result<campaign::StoredCampaign> stored = campaign::read_campaign(folder);
        if (!stored)
            return std::move(stored).error();
        campaigns.push_back(std::move(*stored));
    }
    return campaigns.size() == 1
               ? campaign::compare_clients(campaigns[0], options.request)
               : campaign::compare_campaigns(campaigns[0], campaigns[1], options.request);
}

// The verdict for a script, on stderr, so that stdout holds the comparison alone.
int judge_for_script(const campaign::CampaignComparison& comparison, double share) {
    bool is_anything_known = false;
    for (const campaign::ComparedPair& pair : comparison.pairs)
        is_anything_known |= pair.comparison.interval.has_value();
    const auto slower = campaign::slower_than(comparison, share);
    for (const campaign::ComparedPair* pair : slower)
        fmt::print(stderr, "mqcore: {} {} {}: {}\n", pair->point, pair->second,
                   pair->comparison.metric,
                   pair->is_lost ? "no valid run any more: " + pair->comparison.why
                                 : fmt::format("{} by {:+.1f} %, allowed are {:g} %",
                                               verdict::word_of(pair->comparison),
                                               100 * (*pair->comparison.ratio - 1), 100 * share));
    if (!slower.empty())
        return kSlower;
    if (!is_anything_known)
        return report_error(
            {ErrorCode::host, "nothing could be compared, so nothing is known",
             fmt::format("an interval needs {} valid runs of each", verdict::kRunsForInterval)});
    return kDone;
}

int compare(const CompareOptions& options) {
    double share = 0;
    if (!options.fail_if_slower.empty()) {
        Result<double> parsed = support::parse_percent(options.fail_if_slower);
        if (!parsed)
            return report_error(parsed.error());
        share = *parsed;
    }
    Result<campaign::CampaignComparison> comparison = compared(options);
    if (!comparison)
        return report_error(comparison.error());
    if (options.format == "json")
        fmt::print("{}", support::print_json_pretty(report::comparison_json(*comparison)));
    else if (options.format == "csv")
        fmt::print("{}", report::comparison_csv(*comparison));
    else
        fmt::print("{}", report::comparison_table(*comparison, style_of(options.format)));
    std::fflush(stdout);
    // Whoever reads a form for programs must not miss what stands above the table.
    if (options.format == "csv" || options.format == "json")
        for (const std::string& warning : comparison->warnings)
            fmt::print(stderr, "mqcore: warning: {}\n", warning);
    return options.fail_if_slower.empty() ? int{kDone} : judge_for_script(*comparison, share);
}

struct VerifyOptions {
    std::string folder, retracted, superseded;
};

int verify(const VerifyOptions& options) {
    Result<campaign::StoredCampaign> stored = campaign::read_campaign(options.folder);
    if (!stored)
        return report_error(stored.error());
    for (const auto& [standing, reason] :
         {std::pair<const char*, const std::string&>{"retracted", options.retracted},
          {"superseded", options.superseded}})
        if (!reason.empty()) {
            Result<void> marked = campaign::mark_standing(options.folder, standing, reason);
            if (!marked)
                return report_error(marked.error());
            fmt::print("'{}' is {} from now on: {}\n", options.folder, standing, reason);
            return kDone;
        }
    const campaign::Verification found = campaign::verify(*stored);
    for (const std::string& fault : found.faults)
        fmt::print("{}\n", fault);
    for (const campaign::Difference& difference : found.differences)
        fmt::print("{}: {}: stored {}, computed {}\n", difference.where, difference.what,
                   difference.stored, difference.computed);
    for (const std::string& note : found.notes)
        fmt::print("note: {}\n", note);
    const std::string made_by =
        support::find(stored->manifest, "mqcore")
            ? support::text_or(*support::find(stored->manifest, "mqcore"), "version", "unknown")
            : "unknown";
    fmt::print(
        "{}: format {}, written by mqcore {}, judged again by mqcore {}: {} runs, {} values, "
        "{} differences, {} faults\n",
        options.folder, campaign::kResultsFormat, made_by, MQCORE_VERSION, found.runs, found.values,
        found.differences.size(), found.faults.size());
    return found.is_sound() ? kDone : kSomeInvalid;
}

void add_format(CLI::App& app, std::string& format, std::vector<std::string> known) {
    app.add_option("--format", format, "How to print it")
        ->check(CLI::IsMember(std::move(known)))
        ->capture_default_str();
}

} // namespace

std::function<int()> declare_compare(CLI::App& app) {
    auto options = std::make_shared<CompareOptions>();
    app.add_option("campaign", options->folders,
                   "Two results folders, or one and --clients: the first is what is compared with")
        ->required()
        ->expected(1, 2)
        ->type_name("DIR");
    app.add_option("--clients", options->request.clients,
                   "In one campaign: the first with each other one; in two: only these")
        ->delimiter(',')
        ->type_name("LIST");
    app.add_option("--metrics", options->request.metrics, "Only these metrics")
        ->delimiter(',')
        ->capture_default_str()
        ->type_name("LIST");
    app.add_flag("--anyway", options->request.is_anyway,
                 "Compare what is labelled as not comparable, and say so");
    app.add_option("--fail-if-slower", options->fail_if_slower,
                   "Exit with 4 when anything is certainly worse by more, such as 5%")
        ->type_name("PERCENT");
    add_format(app, options->format, {"table", "json", "csv", "markdown"});
    return [=] { return compare(*options); };
}

std::function<int()> declare_verify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    app.add_option("campaign", options->folder, "A results folder")->required()->type_name("DIR");
    auto* retract = app.add_option("--retract", options->retracted, "Mark it as retracted, and why")
                        ->type_name("REASON");
    app.add_option("--supersede", options->superseded, "Mark it as superseded, and by what")
        ->type_name("REASON")
        ->excludes(retract);
    return [=] { return verify(*options); };
}

} // namespace mqcore::cli
