#include "cli/preparation.hpp"

#include "support/quantity.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace mqcore::cli {
namespace {

using support::Result;

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

} // namespace

support::Error wrong(std::string message, std::string hint) {
    return {support::ErrorCode::wrong_input, std::move(message), std::move(hint)};
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
                                        options.runs ? options.runs : profile->runs, options.seed);
    return campaign;
}

} // namespace mqcore::cli
