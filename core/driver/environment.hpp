#pragma once
// Language environments: what a hosted driver needs besides its folder (for Python, a venv with the
// locked packages). The host's environment tool makes and describes them; this runs the tool and
// reads its JSON. A refusal of the tool comes as an Error with its reason. docs/architecture.md has the
// contract.

#include "driver/descriptor.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

#include <filesystem>
#include <string>

namespace mqcore::driver {

struct EnvironmentOptions {
    std::string interpreter;      // a program to use; empty: the tool chooses
    std::filesystem::path wheels; // packages to install from instead of the network; empty: none
};

struct Environment {
    bool is_ready = false;
    std::filesystem::path path; // there or not; empty: none is needed, or none can be made
    std::string reason;         // why it is not ready, for people
    support::JsonObject facts;  // for the manifest: versions, build, hashes
};

// True when the driver's host brings an environment tool; `host` null: a driver with its own
// library.
bool needs_environment(const Host* host);

// What is there now. Ready, without a path, for a driver that needs none. Takes well under a
// second.
support::Result<Environment> environment_status(const Descriptor& driver, const Host* host,
                                                const EnvironmentOptions& options = {});
// Makes or completes it; may download and build for minutes. What the tool says goes to stderr.
support::Result<Environment> sync_environment(const Descriptor& driver, const Host* host,
                                              const EnvironmentOptions& options = {});
// What the host's tool says about all of its environments.
support::Result<support::Json> list_environments(const Host& host);
// Without a choice of the package: every environment of the driver. With one: those of that choice.
support::Result<support::Json> remove_environment(const Descriptor& driver, const Host& host);
// Writes the driver folder's lock from what it requires; asks the package registry.
support::Result<support::Json> lock_packages(const Descriptor& driver, const Host& host,
                                             const EnvironmentOptions& options = {});

} // namespace mqcore::driver
