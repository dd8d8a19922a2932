#pragma once
// Where the other programs, the drivers and the scenario files are, seen from the running mqcore: the
// same rule in a build folder and in an installation.

#include "driver/discovery.hpp"
#include "driver/environment.hpp"
#include "scenario/loader.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mqcore::cli {

struct Installation {
    std::filesystem::path bin;    // folder of the running program
    std::filesystem::path worker; // mqworker
    std::filesystem::path peer;   // mqpeer

    std::filesystem::path share; // what comes with the programs: scenarios, the report's page

    static Installation find();
    driver::Catalogue catalogue() const; // prints what is broken or shadowed to stderr
    // A scenario file as given, or of that name in the installation's scenarios.
    std::filesystem::path scenario_file(const std::string& name) const;
};

// Loads and checks scenario files; diagnostics go to stderr. Nothing: there was an error.
std::optional<std::vector<scenario::Scenario>>
load_or_complain(const Installation& installation, const std::vector<std::string>& files);

// Chosen clients and what they need to run.
struct ChosenClients {
    std::vector<driver::Descriptor> clients;
    std::map<std::string, driver::Environment> environments; // by id
};

// names: ids or paths, "all" or none: every client that measures a library. A client that was named
// and is not ready is an Error; one that came with "all" is left out with a note on stderr.
support::Result<ChosenClients> choose_clients(const driver::Catalogue& catalogue,
                                              const std::vector<std::string>& names);

} // namespace mqcore::cli
