#pragma once
// Scenario files to points. A file is checked as a whole: the findings are complete and in file
// order, and a file with an error gives no scenario. Reads files, starts nothing.

#include "scenario/point.hpp"
#include "support/diagnostic.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::scenario {

struct LoadedScenario {
    std::optional<Scenario> scenario; // nothing when a finding is an error
    std::vector<support::Diagnostic> diagnostics;
};

LoadedScenario load_scenario(const std::filesystem::path& path);
// The same for a file's content; `file` is how messages name it.
LoadedScenario parse_scenario(std::string_view content, std::string_view file);

struct LoadedScenarios {
    std::vector<Scenario> scenarios; // in the order given; complete when no finding is an error
    std::vector<support::Diagnostic> diagnostics;
};

// Several files that run together: their points' ids must be unique over all of them, and options
// for one driver may stand in one file only.
LoadedScenarios load_scenarios(std::span<const std::filesystem::path> paths);

// Warnings for [driver.ID] tables of drivers that nobody has, with the nearest known id.
std::vector<support::Diagnostic> unknown_drivers(std::span<const Scenario> scenarios,
                                                 std::span<const std::string> known_ids);

} // namespace mqcore::scenario
