// `mqcore profile`: one run of one client on one point with a profiler attached. Its folder has the form of a
// campaign, and is refused wherever its figures could be taken for a measurement.

#include "campaign/harness_cost.hpp"
#include "cli/command.hpp"
#include "cli/preparation.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "report/profile.hpp"
#include "support/text.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Error;
using support::ErrorCode;
using support::Result;

struct ProfileOptions {
    std::string client, point, tool; // tool empty: the first one that is here
    std::uint32_t seconds = 8;
    RunOptions run;
};

// As a run of the standard profile but for the window; no number of it is published.
scenario::Profile lengths_of(const ProfileOptions& options) {
    return {.name = "attached",
            .warmup_ns = 2 * support::kSecond,
            .window_ns = options.seconds * support::kSecond,
            .drain_ns = 2 * support::kSecond,
            .runs = 1,
            .is_comparable = true, // that it is not has another reason than its length
            .help = {}};
}

// The scenario with the point, and the point alone in it.
Result<scenario::Scenario> scenario_with(const std::string& point,
                                         std::vector<scenario::Scenario> scenarios) {
    std::vector<std::string> ids;
    for (scenario::Scenario& scenario : scenarios) {
        for (const scenario::Point& each : scenario.points)
            ids.push_back(each.id);
        if (std::ranges::find(scenario.points, point, &scenario::Point::id) ==
            scenario.points.end())
            continue;
        std::erase_if(scenario.points,
                      [&](const scenario::Point& each) { return each.id != point; });
        return std::move(scenario);
    }
    const auto near = support::nearest(point, ids);
    return wrong(fmt::format("there is no point '{}'", support::brief(point)),
                 near ? fmt::format("did you mean '{}'?", *near)
                      : "`mqcore list FILE` shows the points of a scenario file");
}

bool reads(const machine::Profiler& profiler, const driver::Descriptor& client) {
    return std::string_view(profiler.host).empty() || profiler.host == client.host;
}

// The named one, or the first in the table that reads the client and is here.
Result<campaign::Profiling> choose_profiler(const std::string& tool,
                                            const driver::Descriptor& client,
                                            const std::string& environment) {
    if (!tool.empty()) {
        Result<const machine::Profiler*> named = machine::profiler_named(tool);
        if (!named)
            return std::move(named).error();
        if (!reads(**named, client))
            return wrong(fmt::format("{} reads clients of the host '{}', and '{}' is none", tool,
                                     (*named)->host, client.id),
                         "perf and callgrind read every client");
        Result<std::string> version = machine::version_of(**named, environment);
        if (!version)
            return std::move(version).error();
        return campaign::Profiling{*named, std::move(*version), environment};
    }
    std::vector<std::string> missing;
    for (const machine::Profiler& profiler : machine::profilers()) {
        if (!reads(profiler, client))
            continue;
        if (Result<std::string> version = machine::version_of(profiler, environment))
            return campaign::Profiling{&profiler, std::move(*version), environment};
        missing.push_back(fmt::format("{}: {}", profiler.name, profiler.how_to_get));
    }
    return Error{ErrorCode::host, fmt::format("no profiler for '{}' is here", client.id),
                 fmt::format("any of these will do; {}", fmt::join(missing, "; "))};
}

Result<campaign::CampaignOptions> prepare_profile(ProfileOptions& options) {
    const Installation installation = Installation::find();
    const driver::Catalogue catalogue = installation.catalogue();
    std::vector<std::string> files = options.run.files;
    if (files.empty())
        files = installation.shipped_scenarios();
    if (files.empty())
        return wrong("there is no folder 'scenarios' here, and none is installed",
                     "name the scenario file that has the point, after the point");
    auto scenarios = load_or_complain(installation, files);
    if (!scenarios)
        return wrong("a scenario file is wrong, see above");
    Result<scenario::Scenario> scenario = scenario_with(options.point, std::move(*scenarios));
    if (!scenario)
        return std::move(scenario).error();
    options.run.clients = {options.client};
    options.run.profile = "standard";
    options.run.runs = 1;
    Result<campaign::CampaignOptions> campaign =
        prepare(options.run, installation, catalogue, {std::move(*scenario)}, Missing::make);
    if (!campaign)
        return campaign;
    campaign->profile = lengths_of(options);
    for (const campaign::Refusal& refusal : campaign->plan.refusals)
        return wrong(fmt::format("{} cannot do {}: no {}", refusal.client, refusal.point,
                                 fmt::join(refusal.missing, ", no ")));
    const driver::Descriptor& client = campaign->plan.clients.front();
    Result<campaign::Profiling> profiling =
        choose_profiler(options.tool, client, campaign->setups.at(client.id).environment);
    if (!profiling)
        return std::move(profiling).error();
    campaign->profiling = std::move(*profiling);
    campaign->null_clients =
        campaign::find_null_clients(catalogue, campaign->plan.clients, options.run.environment);
    return campaign;
}

int profile(ProfileOptions options) {
    Result<campaign::CampaignOptions> campaign = prepare_profile(options);
    if (!campaign)
        return report_error(campaign.error());
    Result<campaign::CampaignOutcome> outcome = [&] {
        Progress progress(campaign->plan, options.run.is_quiet);
        return campaign::run_campaign(*campaign, progress);
    }();
    if (!outcome)
        return report_error(outcome.error());
    if (outcome->ending == campaign::Ending::interrupted) {
        fmt::print(stderr, "mqcore: interrupted: there is no profile\n");
        return kInterrupted;
    }
    const support::Json& run = outcome->runs.back();
    const std::string status = support::text_or(run, "status", "");
    const std::string reason = support::text_or(run, "reason", "");
    const support::Json* profiler = support::find(outcome->manifest, "profiler");
    if (const std::string why = support::text_or(*profiler, "unavailable", ""); !why.empty()) {
        fmt::print(stderr, "{}", support::text_or(run, "log_tail", ""));
        return report_error({ErrorCode::host, reason.empty() ? why : reason,
                             fmt::format("the run is stored in {}", outcome->folder.string())});
    }
    fmt::print("NOT COMPARABLE: {}\n{} on {}: {}{}\n",
               campaign::why_not_comparable(*campaign->profiling),
               campaign->plan.clients.front().id, campaign->plan.points.front().id, status,
               reason.empty() ? "" : fmt::format(" ({})", reason));
    fmt::print("{}", report::profile_text(outcome->manifest, outcome->folder,
                                          {.use_colour = wants_colour(1)}));
    fmt::print("\nresults: {}\n", outcome->folder.string());
    return outcome->invalid_runs ? kSomeInvalid : kDone;
}

} // namespace

std::function<int()> declare_profile(CLI::App& app) {
    auto options = std::make_shared<ProfileOptions>();
    app.add_option("client", options->client,
                   "A client: DRIVER[:VARIANT][@VERSION or @PATH[=NAME]]")
        ->required()
        ->type_name("CLIENT");
    app.add_option("point", options->point, "The id of a point")->required()->type_name("POINT");
    app.add_option("scenario", options->run.files,
                   "Scenario files with the point; default: all that come with mqcore")
        ->type_name("FILE");
    std::string tools =
        "The profiler; default: the first of these that is here and reads the client";
    for (const machine::Profiler& profiler : machine::profilers())
        tools += fmt::format("\n{}: {}", profiler.name, profiler.shows);
    app.add_option("--tool", options->tool, tools)->type_name("NAME");
    app.add_option("--seconds", options->seconds, "Length of the window")
        ->check(CLI::Range(1u, 3600u))
        ->capture_default_str()
        ->type_name("N");
    add_python_option(app, options->run.environment);
    app.add_flag("--direct", options->run.is_direct,
                 "Without a broker: the client connects to the peer");
    app.add_option("--output", options->run.output,
                   "Results folder; default: a dated one under results/")
        ->type_name("DIR");
    app.add_flag("--quiet", options->run.is_quiet, "Only the profile and errors");
    return [options] { return profile(*options); };
}

} // namespace mqcore::cli
