#include "cli/installation.hpp"

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
    const fs::path installed = share / given;
    std::error_code ignored;
    return !fs::exists(given, ignored) && given.is_relative() && fs::exists(installed, ignored)
               ? installed
               : given;
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

support::Result<ChosenClients> choose_clients(const driver::Catalogue& catalogue,
                                              const std::vector<std::string>& names) {
    const bool takes_all = names.empty() || std::ranges::count(names, "all") > 0;
    std::vector<driver::Descriptor> wanted;
    if (takes_all) {
        std::ranges::copy_if(catalogue.drivers, std::back_inserter(wanted),
                             [](const driver::Descriptor& d) { return !d.is_harness_floor; });
    } else {
        for (const std::string& name : names) {
            support::Result<driver::Descriptor> driver = driver::driver_named(name, catalogue);
            if (!driver)
                return std::move(driver).error();
            if (driver->is_harness_floor)
                return Error{
                    ErrorCode::wrong_input,
                    fmt::format("'{}' is a null client: it connects to nothing, so no party "
                                "could confirm its numbers",
                                driver->id),
                    "`mqcore harness-cost` measures it"};
            if (std::ranges::none_of(wanted, [&](const auto& d) { return d.id == driver->id; }))
                wanted.push_back(std::move(*driver));
        }
    }

    ChosenClients chosen;
    for (driver::Descriptor& client : wanted) {
        support::Result<driver::Environment> environment =
            driver::environment_status(client, catalogue.host(client.host));
        const std::string why = !environment            ? support::one_line(environment.error())
                                : environment->is_ready ? ""
                                                        : environment->reason;
        if (why.empty()) {
            chosen.environments.emplace(client.id, std::move(*environment));
            chosen.clients.push_back(std::move(client));
        } else if (takes_all) {
            fmt::print(stderr, "mqcore: note: client '{}' is left out: {}\n", client.id, why);
        } else {
            return Error{
                ErrorCode::host, fmt::format("client '{}' is not ready: {}", client.id, why),
                fmt::format("`mqcore envs sync --clients {}` makes what it needs", client.id)};
        }
    }
    if (chosen.clients.empty())
        return Error{
            ErrorCode::host, "there is no client to measure",
            "`mqcore clients` shows what was found, MQCORE_PLUGIN_PATH where else to look"};
    return chosen;
}

} // namespace mqcore::cli
