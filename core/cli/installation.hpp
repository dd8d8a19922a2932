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

namespace CLI {
class App;
}

namespace mqcore::cli {

struct Installation {
    std::filesystem::path bin;    // folder of the running program
    std::filesystem::path worker; // mqworker
    std::filesystem::path peer;   // mqpeer

    std::filesystem::path share; // what comes with the programs: scenarios, the report's page

    std::filesystem::path templates() const { return share / "templates"; } // of drivers

    static Installation find();
    driver::Catalogue catalogue() const; // prints what is broken or shadowed to stderr
    // A scenario file as given; where there is none, of that name among those that come with mqcore, with
    // or without the folder's name: core.toml, scenarios/core.toml.
    std::filesystem::path scenario_file(const std::string& name) const;
    // The files of `scenarios/` here, or in the installation.
    std::vector<std::string> shipped_scenarios() const;
};

// Loads and checks scenario files; diagnostics go to stderr. Nothing: there was an error.
std::optional<std::vector<scenario::Scenario>>
load_or_complain(const Installation& installation, const std::vector<std::string>& files);

// Chosen clients and what they need to run.
struct ChosenClients {
    std::vector<driver::Descriptor> clients;
    std::map<std::string, driver::Environment> environments; // by id
};

// What becomes of a client that is named with '@' and whose environment is not there yet.
enum class Missing { make, mention };

// names: as in driver/client_reference.hpp; "all" or none: every client that measures a library. A
// client that was named and is not ready is an Error; one that came with "all" is left out with a note
// on stderr.
support::Result<ChosenClients> choose_clients(const driver::Catalogue& catalogue,
                                              const std::vector<std::string>& names,
                                              const driver::EnvironmentOptions& options,
                                              Missing missing);

// The options of every command that takes clients.
void add_clients_option(CLI::App& app, std::vector<std::string>& clients, const char* help);
void add_python_option(CLI::App& app, driver::EnvironmentOptions& options);

} // namespace mqcore::cli
