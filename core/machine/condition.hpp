#pragma once
// How the machine stands at an instant: what may change from run to run and is no work of a process.
// Every value may be missing, with a reason. Costs a few files for each CPU: some 10 µs each of the
// caller's core, so it belongs after a window and not into it.

#include "support/json.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::machine {

struct Condition {
    struct Cpu {
        int number = 0;                             // logical
        std::optional<std::string> governor;        // "performance"
        std::optional<std::uint64_t> frequency_khz; // now
        std::optional<std::vector<int>> siblings;   // CPUs of its physical core, itself included
    };
    std::vector<Cpu> cpus; // online ones
    std::optional<bool> has_turbo;
    std::optional<std::array<double, 3>> load_average; // of 1, 5 and 15 minutes
    std::map<std::string, double> temperatures;        // of the processor: sensor, hottest in °C
    std::map<std::string, std::string> unavailable;    // name of a value: why it is missing
};

// `root` is where /proc and /sys are looked for.
Condition read_condition(const std::filesystem::path& root = "/");

// The kernel's turbo or boost switch.
support::Result<bool> read_turbo(const std::filesystem::path& root = "/");
// Why there is neither governor nor frequency, where that is the machine's doing.
std::string why_no_frequency(const std::filesystem::path& root, const std::string& otherwise);

// {"cpus": {"number": [...], "governor": [...], "frequency_khz": [...], "siblings": [[...], ...]},
//  "turbo", "load_average", "temperatures": {...}, "unavailable": {...}}
support::Json to_json(const Condition& condition);

} // namespace mqcore::machine
