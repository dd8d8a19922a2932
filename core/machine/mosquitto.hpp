#pragma once
// The installed Mosquitto: where it is and which version.

#include "support/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mqcore::machine {

// The program in PATH, else in the folders that hold servers and are often missing from a user's
// PATH: those of MQCORE_SERVER_PATH (a colon list), else the usual ones.
std::optional<std::filesystem::path> find_program(std::string_view name);

struct Mosquitto {
    std::filesystem::path program;
    std::string version; // "2.0.11"
};

// Not installed, or not runnable: a one-line Error that says how to mend it.
support::Result<Mosquitto> find_mosquitto();

} // namespace mqcore::machine
