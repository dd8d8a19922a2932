#include "report/profile.hpp"

#include "campaign/profiling.hpp"
#include "support/text.hpp"
#include "verdict/view.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::report {
namespace {

using support::Json;
using verdict::Node;

constexpr std::size_t kShown = 15;       // functions
constexpr std::size_t kLongestName = 96; // of a function: C++ names have no end

std::string share_of(const Json& spot, const char* key) {
    return fmt::format("{:.1f} %", 100 * support::number_or(spot, key, 0));
}

// How the profiler of this mqcore opens a file of that name; empty: it knows none.
std::string how_to_open(const std::string& tool, const std::string& name,
                        const std::filesystem::path& file) {
    const auto profiler = machine::profiler_named(tool);
    if (!profiler)
        return {};
    const auto known = std::ranges::find((*profiler)->files, name, &machine::ProfileFile::name);
    const std::string path = file.string();
    const machine::Filling fillings[] = {{"file", path}};
    return known == (*profiler)->files.end() ? std::string()
                                             : machine::filled(known->how_to_open, fillings);
}

} // namespace

std::string profile_text(const Json& manifest, const std::filesystem::path& folder,
                         const TableStyle& style) {
    const Json* profiler = support::find(manifest, "profiler");
    if (!profiler)
        return {};
    const bool is_markdown = style.format == Format::markdown;
    const Node told(profiler);
    const std::string tool = told.text("tool");
    std::string out = fmt::format("\n{}{} ({}): {}\n\n", is_markdown ? "## " : "", tool,
                                  told.text("version"), told.text("shows"));
    if (told["unavailable"])
        return out + fmt::format("There is no profile: {}\n", told.text("unavailable"));
    const support::JsonArray& hottest = told["hottest"].json()->as_array();
    // A profiler that counts no callees leaves every total at 0.
    const bool has_total = std::ranges::any_of(
        hottest, [](const Json& spot) { return support::number_or(spot, "total", 0) > 0; });
    std::vector<Column> columns = {{"self", Align::right}};
    if (has_total)
        columns.push_back({"total", Align::right});
    columns.push_back({"function", Align::left});
    TextTable table(columns);
    for (std::size_t i = 0; i < std::min(hottest.size(), kShown); ++i) {
        std::vector<TextCell> cells = {{share_of(hottest[i], "self")}};
        if (has_total)
            cells.push_back({share_of(hottest[i], "total")});
        cells.push_back(
            {support::brief(support::text_or(hottest[i], "function", ""), kLongestName)});
        table.add(std::move(cells));
    }
    out += table.print(style.format, style.use_colour);
    out += fmt::format("\nShares of {} {} in the window{}.\n",
                       support::format_count(told.count("count").value_or(0)), told.text("counted"),
                       has_total ? "; total: with all that the function called" : "");
    for (const Json& file : told["files"].json()->as_array()) {
        const std::string name = support::text_or(file, "file", "");
        const auto path = folder / campaign::kProfileFolder / name;
        out += fmt::format("{}{}: {}; {}\n", is_markdown ? "- " : "  ", path.string(),
                           support::text_or(file, "holds", ""), how_to_open(tool, name, path));
    }
    return out;
}

} // namespace mqcore::report
