#include "cli/installation.hpp"

#include "driver/client_reference.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace mqcore::cli {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;

Installation Installation::find() {
    std::error_code failed;
    const fs::path bin = fs::read_symlink("/proc/self/exe", failed).parent_path();
    return {.bin = bin,
            .worker = bin / "mqworker",
            .peer = bin / "mqpeer",
            .share = bin.parent_path() / "share" / "mqcore"};
}

driver::Catalogue Installation::catalogue() const {
    driver::Catalogue catalogue = driver::discover(driver::default_places(bin));
    for (const std::string& place : catalogue.unusable_places)
        fmt::print(stderr, "mqcore: warning: {}\n", place);
    for (const driver::Broken& broken : catalogue.broken)
        if (broken.diagnostics.empty())
            fmt::print(stderr, "mqcore: warning: {}\n", support::one_line(broken.error));
        else
            fmt::print(stderr, "{}", support::format_diagnostics(broken.diagnostics));
    fmt::print(stderr, "{}", support::format_diagnostics(catalogue.warnings));
    return catalogue;
}

fs::path Installation::scenario_file(const std::string& name) const {
    const fs::path given = name;
    std::error_code ignored;
    if (fs::exists(given, ignored) || given.is_absolute())
        return given;
    for (const fs::path& installed : {share / given, share / "scenarios" / given})
        if (fs::exists(installed, ignored))
            return installed;
    return given;
}

std::vector<std::string> Installation::shipped_scenarios() const {
    std::vector<std::string> files;
    std::error_code none;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(scenario_file("scenarios"), none))
        if (entry.path().extension() == ".toml")
            files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
}

std::optional<std::vector<scenario::Scenario>>
load_or_complain(const Installation& installation, const std::vector<std::string>& files) {
    std::vector<fs::path> paths;
    for (const std::string& file : files)
        paths.push_back(installation.scenario_file(file));
    scenario::LoadedScenarios loaded = scenario::load_scenarios(paths);
    fmt::print(stderr, "{}", support::format_diagnostics(loaded.diagnostics));
    if (support::has_error(loaded.diagnostics))
        return std::nullopt;
    return std::move(loaded.scenarios);
}

namespace {

// What the names mean, each client once.
support::Result<std::vector<driver::Descriptor>>
wanted_clients(const driver::Catalogue& catalogue, const std::vector<std::string>& names,
               bool takes_all) {
    std::vector<driver::Descriptor> wanted;
    if (takes_all)
        std::ranges::copy_if(catalogue.drivers, std::back_inserter(wanted),
                             [](const driver::Descriptor& d) { return !d.is_harness_floor; });
    for (const std::string& name : names) {
        if (name == "all")
            continue;
        support::Result<driver::Descriptor> client = driver::client_named(name, catalogue);
        if (!client)
            return std::move(client).error();
        if (client->is_harness_floor)
            return Error{ErrorCode::wrong_input,
                         fmt::format("'{}' is a null client: it connects to nothing, so no party "
                                     "could confirm its numbers",
                                     client->id),
                         "`mqcore harness-cost` measures it"};
        if (support::Result<void> added = driver::add_client(*std::move(client), wanted); !added)
            return std::move(added).error();
    }
    return wanted;
}

} // namespace

support::Result<ChosenClients> choose_clients(const driver::Catalogue& catalogue,
                                              const std::vector<std::string>& names,
                                              const driver::EnvironmentOptions& options,
                                              Missing missing) {
    const bool takes_all = names.empty() || std::ranges::count(names, "all") > 0;
    support::Result<std::vector<driver::Descriptor>> wanted =
        wanted_clients(catalogue, names, takes_all);
    if (!wanted)
        return std::move(wanted).error();

    ChosenClients chosen;
    for (driver::Descriptor& client : *wanted) {
        const driver::Host* host = catalogue.host(client.host);
        support::Result<driver::Environment> environment =
            driver::environment_status(client, host, options);
        const bool is_chosen = !client.choice.is_locked();
        if (environment && !environment->is_ready && is_chosen) {
            if (missing == Missing::make) {
                fmt::print(stderr, "mqcore: making the environment of '{}'\n", client.id);
                environment = driver::sync_environment(client, host, options);
                if (!environment)
                    return std::move(environment).error();
            } else {
                fmt::print(stderr,
                           "mqcore: note: `mqcore run` makes the environment of '{}' first\n",
                           client.id);
                environment->is_ready = true;
            }
        }
        const std::string why = !environment            ? support::one_line(environment.error())
                                : environment->is_ready ? ""
                                                        : environment->reason;
        if (why.empty()) {
            chosen.environments.emplace(client.id, std::move(*environment));
            chosen.clients.push_back(std::move(client));
        } else if (takes_all) {
            fmt::print(stderr, "mqcore: note: client '{}' is left out: {}\n", client.id, why);
        } else {
            // Without a path the tool has refused: so would sync, and the reason says what to do.
            const bool can_be_made = environment && !environment->path.empty();
            const std::string python =
                options.interpreter.empty() ? "" : " --python " + options.interpreter;
            return Error{ErrorCode::host,
                         fmt::format("client '{}' is not ready: {}", client.id, why),
                         can_be_made ? fmt::format("`mqcore envs sync --clients {}{}` makes what "
                                                   "it needs",
                                                   client.driver_id, python)
                                     : ""};
        }
    }
    if (chosen.clients.empty())
        return Error{
            ErrorCode::host, "there is no client to measure",
            "`mqcore clients` shows what was found, MQCORE_PLUGIN_PATH where else to look"};
    return chosen;
}

void add_clients_option(CLI::App& app, std::vector<std::string>& clients, const char* help) {
    app.add_option("--clients", clients,
                   fmt::format("{}; each DRIVER[:VARIANT][@VERSION or @PATH[=NAME]]", help))
        ->delimiter(',')
        ->type_name("LIST");
}

void add_python_option(CLI::App& app, driver::EnvironmentOptions& options) {
    app.add_option("--python", options.interpreter,
                   "A Python: a program, or a version such as 3.12")
        ->type_name("PROGRAM");
}

} // namespace mqcore::cli
