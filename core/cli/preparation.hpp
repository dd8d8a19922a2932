#pragma once
// From a command line to the options of a campaign: scenarios, points, clients with their environments, plan.
// For the commands that run or plan one.

#include "campaign/campaign.hpp"
#include "cli/installation.hpp"

namespace mqcore::cli {

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
    std::uint64_t seed = 0;
    std::string output;
    std::string broker;
    std::string ca_file;
    std::string resume; // folder of the campaign to go on with
    bool is_quiet = false;
    bool is_dry_run = false;
    bool is_direct = false;
};

// What is wrong with the command line, or with what it names.
support::Error wrong(std::string message, std::string hint = {});

// `missing`: what becomes of an environment that is not there yet. Warnings go to stderr.
support::Result<campaign::CampaignOptions> prepare(const RunOptions& options,
                                                   const Installation& installation,
                                                   const driver::Catalogue& catalogue,
                                                   std::vector<scenario::Scenario> scenarios,
                                                   Missing missing);

} // namespace mqcore::cli
