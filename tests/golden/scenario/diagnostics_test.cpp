// Every *.toml of this folder is checked as a scenario; the printed findings must equal the
// *.expected beside it to the byte. MQCORE_UPDATE_GOLDEN=1 writes the expected files.

#include "scenario/loader.hpp"
#include "scenario/reference.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <vector>

using namespace mqcore;

namespace {

const std::filesystem::path kSource = mqcore::tests::source_folder();
const std::filesystem::path kFolder = kSource / "tests/golden/scenario";

std::vector<std::filesystem::path> scenario_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder))
        if (entry.path().extension() == ".toml")
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

} // namespace

TEST_CASE("the findings about each wrong scenario are printed as expected") {
    const auto files = scenario_files();
    REQUIRE(files.size() > 15);
    for (const std::filesystem::path& file : files) {
        const auto loaded =
            scenario::parse_scenario(tests::content_of(file), file.filename().string());
        CHECK(loaded.scenario.has_value() != support::has_error(loaded.diagnostics));
        std::filesystem::path expected = file;
        tests::check_golden(expected.replace_extension(".expected"),
                            support::format_diagnostics(loaded.diagnostics));
    }
}

TEST_CASE("the reference page is current") {
    tests::check_golden(kSource / "docs/scenario-reference.md",
                        scenario::scenario_reference_markdown());
}

TEST_CASE("the JSON Schema for editors is current") {
    tests::check_golden(kSource / "docs/scenario.schema.json",
                        support::print_json_pretty(scenario::scenario_json_schema()));
}

TEST_CASE("the list of keys for a terminal is as expected") {
    tests::check_golden(kFolder / "keys.expected", scenario::scenario_keys());
}
