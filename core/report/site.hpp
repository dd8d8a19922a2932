#pragma once
// The report site: a folder of static files that a browser opens from the disk or from any web server.
// The page itself is built from report/ (TypeScript); this adds its data and the raw files.

#include "support/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mqcore::report {

struct SiteOptions {
    std::filesystem::path results; // a campaign, or a folder of campaigns
    std::filesystem::path output;  // a new or empty folder, or one that write_site() made
    std::filesystem::path page;    // the built page: index.html and what it loads
};

struct WrittenSite {
    std::vector<std::string> campaigns; // their folders' names
    // Folders of campaigns that cannot be read, and why; the site says so, too.
    std::vector<std::string> left_out;
};

// The folder appears whole or not at all: it is made beside `output` and renamed. A folder with
// something in it that write_site() did not make is refused and stays as it is. Memory holds one
// campaign's cells and one cell's runs at a time.
support::Result<WrittenSite> write_site(const SiteOptions& options);

} // namespace mqcore::report
