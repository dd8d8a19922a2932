#include "campaign/harness_cost.hpp"
#include "campaign/wiring.hpp"
#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "report/consumers.hpp"
#include "report/table.hpp"
#include "support/quantity.hpp"
#include "verdict/cell.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Result;

struct RunOptions {
    std::vector<std::string> files;
    std::vector<std::string> clients;
    std::vector<std::string> points;
    driver::EnvironmentOptions environment;
    std::string profile = "standard";
    std::uint32_t runs = 0; // 0: as the profile says
    bool has_control = false;
    std::string until; // empty: the plan's runs and no more
    std::uint32_t runs_max = campaign::Until().runs_max;
    std::string output;
    std::string broker;
    std::string ca_file;
    bool is_quiet = false;
    bool is_dry_run = false;
    bool is_direct = false;
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

// What the scenarios say to the client's driver; its variant's own options win.
driver::Options options_for(const driver::Descriptor& client,
                            const std::vector<scenario::Scenario>& scenarios) {
    std::map<std::string, std::string> options;
    for (const scenario::Scenario& scenario : scenarios)
        if (const auto table = scenario.driver_options.find(client.driver_id);
            table != scenario.driver_options.end())
            options.insert(table->second.begin(), table->second.end());
    for (const auto& [key, value] : client.variant.options)
        options[key] = value;
    return {options.begin(), options.end()};
}

Result<campaign::CampaignOptions> prepare(const RunOptions& options,
                                          const Installation& installation,
                                          const driver::Catalogue& catalogue,
                                          std::vector<scenario::Scenario> scenarios,
                                          Missing missing) {
    Result<scenario::Profile> profile = scenario::profile_named(options.profile);
    if (!profile)
        return std::move(profile).error();
    Result<std::vector<scenario::Point>> points =
        campaign::select_points(scenarios, options.points);
    if (!points)
        return std::move(points).error();
    if (options.is_direct && !options.broker.empty())
        return support::Error{support::ErrorCode::wrong_input,
                              "--direct and --broker exclude each other",
                              "direct mode has no broker"};
    for (scenario::Point& point : *points)
        point.is_direct |= options.is_direct;
    std::vector<std::string> known_ids;
    for (const driver::Descriptor& driver : catalogue.drivers)
        known_ids.push_back(driver.id);
    fmt::print(stderr, "{}",
               support::format_diagnostics(scenario::unknown_drivers(scenarios, known_ids)));
    Result<ChosenClients> chosen =
        choose_clients(catalogue, options.clients, options.environment, missing);
    if (!chosen)
        return std::move(chosen).error();

    campaign::CampaignOptions campaign{.scenarios = std::move(scenarios),
                                       .plan = {},
                                       .setups = {},
                                       .null_clients = {},
                                       .until = {},
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
        campaign.setups.emplace(
            client.id,
            campaign::ClientSetup{.environment = environment.path.string(),
                                  .environment_facts = environment.facts.empty()
                                                           ? support::Json(nullptr)
                                                           : support::Json(environment.facts),
                                  .options = options_for(client, campaign.scenarios)});
    }
    if (options.has_control) {
        const driver::Descriptor& first = chosen->clients.front();
        driver::Descriptor control = campaign::control_of(first);
        campaign::ClientSetup setup = campaign.setups.at(first.id);
        setup.control_of = first.id;
        campaign.setups.emplace(control.id, std::move(setup));
        chosen->clients.push_back(std::move(control));
    }
    if (!options.until.empty()) {
        Result<double> width = support::parse_percent(options.until);
        if (!width)
            return std::move(width).error();
        campaign.until = campaign::Until{.width = *width, .runs_max = options.runs_max};
    }
    campaign.plan = campaign::make_plan(std::move(*points), std::move(chosen->clients),
                                        options.runs ? options.runs : profile->runs);
    return campaign;
}

int run(const RunOptions& options) {
    const Installation installation = Installation::find();
    auto scenarios = load_or_complain(installation, options.files);
    if (!scenarios)
        return kWrongInput;
    const driver::Catalogue catalogue = installation.catalogue();
    Result<campaign::CampaignOptions> campaign =
        prepare(options, installation, catalogue, std::move(*scenarios),
                options.is_dry_run ? Missing::mention : Missing::make);
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
    fmt::print("{}", report::consumers_text(outcome->runs, terminal_style()));
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
        prepare(options, installation, catalogue, std::move(*scenarios), Missing::mention);
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
    add_clients_option(app, options.clients, "Clients, or 'all' (default)");
    add_python_option(app, options.environment);
    app.add_option("--points", options.points, "Only these points; * and ? match as in a shell")
        ->delimiter(',')
        ->type_name("LIST");
    app.add_option("--profile", options.profile, "How thoroughly: smoke or standard")
        ->capture_default_str()
        ->type_name("NAME");
    app.add_flag("--direct", options.is_direct,
                 "Without a broker: the client connects to the peer, in a ranking of its own");
    app.add_option("--runs", options.runs, "Runs of each pair instead of the profile's number")
        ->check(CLI::Range(1u, 1000u))
        ->type_name("N");
    app.add_flag("--control", options.has_control,
                 "Measure the first client twice, under two names: what this campaign cannot tell");
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
    auto* until = app.add_option("--until", options->until,
                                 "Go on until the interval of every ratio is narrower, such as 2%")
                      ->type_name("PERCENT");
    app.add_option("--runs-max", options->runs_max, "With --until: most runs of each pair")
        ->check(CLI::Range(1u, 1000u))
        ->needs(until)
        ->capture_default_str()
        ->type_name("N");
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
