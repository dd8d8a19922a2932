#include "campaign/harness_cost.hpp"
#include "campaign/profiling.hpp"
#include "campaign/wiring.hpp"
#include "cli/command.hpp"
#include "cli/preparation.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "driver/client_reference.hpp"
#include "report/consumers.hpp"
#include "report/table.hpp"
#include "support/file.hpp"
#include "verdict/cell.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Result;

report::TableStyle terminal_style() {
    return {.format = report::Format::text, .use_colour = wants_colour(1)};
}

std::vector<report::RefusedPair> refused_pairs(const campaign::Plan& plan) {
    std::vector<report::RefusedPair> pairs;
    for (const campaign::Refusal& refusal : plan.refusals)
        pairs.push_back({refusal.client, refusal.point, refusal.missing});
    return pairs;
}

bool is_control(const support::Json& client) {
    return !support::text_or(client, "control_of", "").empty();
}

std::vector<support::Json> items_of(const support::Json& manifest, std::string_view key) {
    const support::Json* items = support::find(manifest, key);
    return items && items->is_array()
               ? std::vector<support::Json>(items->get_array().begin(), items->get_array().end())
               : std::vector<support::Json>();
}

// The campaign's clients in its order. `named`: ids or paths that say where some of them are.
Result<std::vector<std::string>> clients_of(const support::Json& manifest,
                                            const std::vector<std::string>& named,
                                            const driver::Catalogue& catalogue) {
    std::vector<std::string> ids;
    for (const support::Json& client : items_of(manifest, "clients"))
        if (!is_control(client))
            ids.push_back(support::text_or(client, "id", ""));
    std::vector<std::string> clients = ids;
    for (const std::string& name : named) {
        Result<driver::Descriptor> driver = driver::client_named(name, catalogue);
        if (!driver)
            return std::move(driver).error();
        const auto place = std::ranges::find(ids, driver->id);
        if (place == ids.end())
            return wrong(fmt::format("the driver '{}' is no client of this campaign ({})",
                                     driver->id, fmt::join(ids, ", ")));
        clients[static_cast<std::size_t>(place - ids.begin())] = name;
    }
    return clients;
}

// What a campaign was started with, out of its manifest.
Result<RunOptions> options_of(const campaign::ResultStore& store, const RunOptions& given,
                              const driver::Catalogue& catalogue) {
    const support::Json& manifest = store.first_manifest();
    if (!campaign::profiler_of(manifest).empty())
        return wrong(
            fmt::format("'{}' is a profile: it is one run, which does not go on", given.resume),
            "`mqcore profile` makes another");
    if (support::text_or(manifest, "state", "") == "finished")
        return wrong(
            fmt::format("the campaign in '{}' is finished: nothing is left to run", given.resume),
            fmt::format("`mqcore show {}` prints it", given.resume));
    RunOptions options = given;
    for (const support::Json& scenario : items_of(manifest, "scenarios")) {
        const auto file = store.scenario_file(support::text_or(scenario, "file", ""));
        Result<std::string> hash = support::sha256_of_file(file);
        if (!hash)
            return wrong(hash.error().message, "a campaign goes on only with its own scenarios");
        if (*hash != support::text_or(scenario, "sha256", ""))
            return wrong(fmt::format("'{}' was changed since the campaign began", file.string()),
                         "put it back, or start a new campaign");
        options.files.push_back(file.string());
    }
    for (const support::Json& point : items_of(manifest, "points"))
        options.points.push_back(support::text_or(point, "id", ""));
    Result<std::vector<std::string>> clients = clients_of(manifest, given.clients, catalogue);
    if (!clients)
        return std::move(clients).error();
    options.clients = std::move(*clients);
    if (const support::Json* profile = support::find(manifest, "profile")) {
        options.profile = support::text_or(*profile, "name", "");
        options.runs = static_cast<std::uint32_t>(support::unsigned_or(*profile, "runs", 0));
    }
    options.seed = support::unsigned_or(manifest, "seed", 0);
    if (const support::Json* until = support::find(manifest, "until");
        until && until->is_object()) {
        options.until = fmt::format("{}%", 100 * support::number_or(*until, "width", 0));
        options.runs_max =
            static_cast<std::uint32_t>(support::unsigned_or(*until, "runs_max", options.runs_max));
    }
    const std::vector<support::Json> all = items_of(manifest, "clients");
    options.has_control = std::ranges::any_of(all, is_control);
    const std::vector<support::Json> points = items_of(manifest, "points");
    options.is_direct = std::ranges::all_of(points, [](const support::Json& point) {
        return support::boolean_or(point, "direct", false);
    });
    if (const support::Json* broker = support::find(manifest, "broker"))
        options.broker = support::text_or(*broker, "url", "");
    return options;
}

int run(const RunOptions& given) {
    const Installation installation = Installation::find();
    const driver::Catalogue catalogue = installation.catalogue();
    RunOptions options = given;
    std::optional<campaign::ResultStore> resumed;
    if (!given.resume.empty()) {
        Result<campaign::ResultStore> store = campaign::ResultStore::reopen(given.resume);
        if (!store)
            return report_error(store.error());
        Result<RunOptions> taken = options_of(*store, given, catalogue);
        if (!taken)
            return report_error(taken.error());
        options = std::move(*taken);
        resumed = std::move(*store);
    }
    auto scenarios = load_or_complain(installation, options.files);
    if (!scenarios)
        return kWrongInput;
    Result<campaign::CampaignOptions> campaign =
        prepare(options, installation, catalogue, std::move(*scenarios),
                options.is_dry_run ? Missing::mention : Missing::make);
    if (!campaign)
        return report_error(campaign.error());

    // Refused pairs are told before the first run: nobody waits for a number that will not come.
    if (options.is_dry_run) {
        fmt::print("{}", report::points_table(campaign->plan.points, refused_pairs(campaign->plan),
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

    campaign->null_clients =
        campaign::find_null_clients(catalogue, campaign->plan.clients, options.environment);
    Result<campaign::CampaignOutcome> outcome = [&] {
        Progress progress(campaign->plan, options.is_quiet);
        return campaign::run_campaign(*campaign, progress, std::move(resumed));
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
                   "mqcore: interrupted; what was finished is stored\n"
                   "        `mqcore run --resume {0}` goes on, `mqcore show {0}` prints it\n",
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
        fmt::print("{}", report::points_table(campaign->plan.points, refused_pairs(campaign->plan),
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
    app.add_option("--seed", options.seed, "Draws the order of the clients on each point")
        ->capture_default_str()
        ->type_name("N");
    app.add_flag("--control", options.has_control,
                 "Measure the first client twice, under two names: what this campaign cannot tell");
}

// The first option on the command line that would change what a campaign began with.
std::string not_for_resume(const CLI::App& app) {
    constexpr std::string_view kAllowed[] = {"--resume", "--clients", "--python", "--broker-ca",
                                             "--quiet"};
    for (const CLI::Option* option : app.get_options())
        if (option->count() > 0 &&
            std::ranges::find(kAllowed, option->get_name()) == std::end(kAllowed))
            return option->get_name() == "scenario" ? "a scenario file" : option->get_name();
    return {};
}

} // namespace

std::function<int()> declare_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>(); // shared with the parser's bindings
    declare_selection(app, *options);
    app.get_option("scenario")->required(false);
    app.add_option("--resume", options->resume,
                   "Go on with the campaign in this results folder, under its own settings")
        ->type_name("DIR");
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
    return [options, &app] {
        if (options->resume.empty() && options->files.empty())
            return static_cast<int>(report_error(wrong(
                "no scenario file was named", "mqcore run scenarios/core.toml --profile smoke")));
        if (const std::string mixed = options->resume.empty() ? "" : not_for_resume(app);
            !mixed.empty())
            return static_cast<int>(report_error(
                wrong(fmt::format("{} cannot be given with --resume: a campaign goes on under the "
                                  "settings that it began with",
                                  mixed),
                      "only --clients (to say where a driver is), --python, --broker-ca and "
                      "--quiet can")));
        return run(*options);
    };
}

std::function<int()> declare_list(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    auto wants_json = std::make_shared<bool>(false);
    declare_selection(app, *options);
    app.add_flag("--json", *wants_json, "As JSON");
    return [options, wants_json] { return list(*options, *wants_json); };
}

} // namespace mqcore::cli
