#include "campaign/harness_cost.hpp"
#include "campaign/wiring.hpp"
#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "report/table.hpp"
#include "verdict/cell.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Result;

struct RunOptions {
    std::vector<std::string> files;
    std::vector<std::string> clients;
    std::vector<std::string> points;
    std::string profile = "standard";
    std::uint32_t runs = 0; // 0: as the profile says
    std::uint64_t seed = 0;
    std::string output;
    std::string broker;
    std::string ca_file;
    bool is_quiet = false;
    bool is_dry_run = false;
};

report::TableStyle terminal_style() {
    return {.format = report::Format::text, .use_colour = wants_colour(1)};
}

std::vector<report::RefusedPair> refused_pairs(const campaign::Plan& plan) {
    std::vector<report::RefusedPair> pairs;
    for (const campaign::Refusal& refusal : plan.refusals)
        pairs.push_back({refusal.client, refusal.point, refusal.missing});
    return pairs;
}

Result<campaign::CampaignOptions> prepare(const RunOptions& options,
                                          const Installation& installation,
                                          const driver::Catalogue& catalogue,
                                          std::vector<scenario::Scenario> scenarios) {
    Result<scenario::Profile> profile = scenario::profile_named(options.profile);
    if (!profile)
        return std::move(profile).error();
    Result<std::vector<scenario::Point>> points =
        campaign::select_points(scenarios, options.points);
    if (!points)
        return std::move(points).error();
    std::vector<std::string> known_ids;
    for (const driver::Descriptor& driver : catalogue.drivers)
        known_ids.push_back(driver.id);
    fmt::print(stderr, "{}",
               support::format_diagnostics(scenario::unknown_drivers(scenarios, known_ids)));
    Result<ChosenClients> chosen = choose_clients(catalogue, options.clients);
    if (!chosen)
        return std::move(chosen).error();

    campaign::CampaignOptions campaign{.scenarios = std::move(scenarios),
                                       .plan = {},
                                       .setups = {},
                                       .null_clients = {},
                                       .profile = *profile,
                                       .worker_program = installation.worker,
                                       .peer_program = installation.peer,
                                       .output = options.output,
                                       .external_broker = {},
                                       .external_broker_url = options.broker,
                                       .external_ca_file = options.ca_file};
    if (!options.broker.empty()) {
        Result<session::BrokerUrl> url = session::parse_broker_url(options.broker);
        if (!url)
            return std::move(url).error();
        campaign.external_broker = *url;
    }
    for (const driver::Descriptor& client : chosen->clients) {
        const driver::Environment& environment = chosen->environments.at(client.id);
        campaign::ClientSetup setup{.environment = environment.path.string(),
                                    .environment_facts = environment.facts.empty()
                                                             ? support::Json(nullptr)
                                                             : support::Json(environment.facts),
                                    .options = {}};
        for (const scenario::Scenario& scenario : campaign.scenarios)
            if (const auto table = scenario.driver_options.find(client.id);
                table != scenario.driver_options.end())
                setup.options.assign(table->second.begin(), table->second.end());
        campaign.setups.emplace(client.id, std::move(setup));
    }
    campaign.plan = campaign::make_plan(std::move(*points), std::move(chosen->clients),
                                        options.runs ? options.runs : profile->runs, options.seed);
    return campaign;
}

int run(const RunOptions& options) {
    const Installation installation = Installation::find();
    auto scenarios = load_or_complain(installation, options.files);
    if (!scenarios)
        return kWrongInput;
    const driver::Catalogue catalogue = installation.catalogue();
    Result<campaign::CampaignOptions> campaign =
        prepare(options, installation, catalogue, std::move(*scenarios));
    if (!campaign)
        return report_error(campaign.error());

    // Refused pairs are told before the first run: nobody waits for a number that will not come.
    if (options.is_dry_run) {
        fmt::print("{}", report::points_table(campaign->scenarios, refused_pairs(campaign->plan),
                                              terminal_style()));
        fmt::print("\n{} runs, about {} s\n", campaign->plan.runs.size(),
                   campaign::estimate_ns(campaign->plan, campaign->profile) / support::kSecond);
        return kDone;
    }
    if (!options.is_quiet)
        for (const campaign::Refusal& refusal : campaign->plan.refusals)
            fmt::print(stderr, "refused: {} on {}: no {}\n", refusal.client, refusal.point,
                       fmt::join(refusal.missing, ", no "));
    if (campaign->plan.runs.empty())
        return report_error(
            {support::ErrorCode::wrong_input,
             "nothing to run: every chosen client lacks what the chosen points need",
             {}});

    campaign->null_clients = campaign::find_null_clients(catalogue, campaign->plan.clients);
    Result<campaign::CampaignOutcome> outcome = [&] {
        Progress progress(campaign->plan, options.is_quiet);
        return campaign::run_campaign(*campaign, progress);
    }();
    if (!outcome)
        return report_error(outcome.error());
    fmt::print("{}", report::campaign_table(outcome->manifest, verdict::cells_of(outcome->runs),
                                            terminal_style()));
    fmt::print("\nresults: {}\n", outcome->folder.string());
    std::fflush(stdout);
    if (outcome->ending == campaign::Ending::interrupted) {
        fmt::print(stderr,
                   "mqcore: interrupted after {} of {} runs; what was finished is in {}, "
                   "`mqcore show {}` prints it\n",
                   outcome->runs.size(), campaign->plan.runs.size(), outcome->folder.string(),
                   outcome->folder.string());
        return kInterrupted;
    }
    return outcome->invalid_runs ? kSomeInvalid : kDone;
}

int list(const RunOptions& options, bool wants_json) {
    const Installation installation = Installation::find();
    auto scenarios = load_or_complain(installation, options.files);
    if (!scenarios)
        return kWrongInput;
    const driver::Catalogue catalogue = installation.catalogue();
    Result<campaign::CampaignOptions> campaign =
        prepare(options, installation, catalogue, std::move(*scenarios));
    if (!campaign)
        return report_error(campaign.error());
    const auto seconds =
        campaign::estimate_ns(campaign->plan, campaign->profile) / support::kSecond;
    if (!wants_json) {
        fmt::print("{}", report::points_table(campaign->scenarios, refused_pairs(campaign->plan),
                                              terminal_style()));
        std::vector<std::string> ids;
        for (const driver::Descriptor& client : campaign->plan.clients)
            ids.push_back(client.id);
        fmt::print("\nclients: {}\n{} runs in profile {}, about {} min {:02} s\n",
                   fmt::join(ids, ", "), campaign->plan.runs.size(), campaign->profile.name,
                   seconds / 60, seconds % 60);
        return kDone;
    }
    support::JsonArray points, clients, refused;
    for (const scenario::Point& point : campaign->plan.points)
        points.push_back(campaign::to_json(point));
    for (const driver::Descriptor& client : campaign->plan.clients)
        clients.emplace_back(client.id);
    for (const campaign::Refusal& refusal : campaign->plan.refusals)
        refused.push_back(support::JsonObject{
            {"client", refusal.client},
            {"point", refusal.point},
            {"missing", support::JsonArray(refusal.missing.begin(), refusal.missing.end())}});
    fmt::print("{}",
               support::print_json_pretty(support::JsonObject{{"points", std::move(points)},
                                                              {"clients", std::move(clients)},
                                                              {"refused", std::move(refused)},
                                                              {"profile", campaign->profile.name},
                                                              {"runs", campaign->plan.runs.size()},
                                                              {"estimate_s", seconds}}));
    return kDone;
}

void declare_selection(CLI::App& app, RunOptions& options) {
    app.add_option("scenario", options.files, "Scenario files")->required()->type_name("FILE");
    app.add_option("--clients", options.clients, "Client ids or driver paths, or 'all' (default)")
        ->delimiter(',')
        ->type_name("LIST");
    app.add_option("--points", options.points, "Only these points; * and ? match as in a shell")
        ->delimiter(',')
        ->type_name("LIST");
    app.add_option("--profile", options.profile, "How thoroughly: smoke or standard")
        ->capture_default_str()
        ->type_name("NAME");
    app.add_option("--runs", options.runs, "Runs of each pair instead of the profile's number")
        ->check(CLI::Range(1u, 1000u))
        ->type_name("N");
    app.add_option("--seed", options.seed, "Draws the order of the clients on each point")
        ->capture_default_str()
        ->type_name("N");
}

} // namespace

std::function<int()> declare_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>(); // shared with the parser's bindings
    declare_selection(app, *options);
    app.add_option("--output", options->output,
                   "Results folder; default: a dated one under results/")
        ->type_name("DIR");
    app.add_option(
           "--broker", options->broker,
           "Use a running broker, mqtt://HOST:PORT or mqtts://HOST:PORT, instead of our own")
        ->type_name("URL");
    app.add_option("--broker-ca", options->ca_file,
                   "Certificate authority of a mqtts:// broker (PEM)")
        ->type_name("FILE");
    app.add_flag("--quiet", options->is_quiet, "Only the table and errors");
    app.add_flag("--dry-run", options->is_dry_run, "Show what would run and start nothing");
    return [options] { return run(*options); };
}

std::function<int()> declare_list(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    auto wants_json = std::make_shared<bool>(false);
    declare_selection(app, *options);
    app.add_flag("--json", *wants_json, "As JSON");
    return [options, wants_json] { return list(*options, *wants_json); };
}

} // namespace mqcore::cli
