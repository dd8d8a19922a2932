#pragma once
// What `mqcore profile` has to say: the hottest functions and the files that hold the rest.

#include "report/table.hpp"

#include <filesystem>

namespace mqcore::report {

// Empty for the manifest of a campaign without a profiler. `folder`: where the campaign is, for the files.
std::string profile_text(const support::Json& manifest, const std::filesystem::path& folder,
                         const TableStyle& style);

} // namespace mqcore::report
