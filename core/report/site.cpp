#include "report/site.hpp"

#include "campaign/store.hpp"
#include "report/document.hpp"
#include "report/selection.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

namespace mqcore::report {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;
using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Result;

// Its presence, with this text, says that a folder is ours to replace.
constexpr const char* kMarker = ".mqcore-site";
constexpr std::string_view kMarkerText =
    "Made by 'mqcore report', which may replace this folder.\n";

// What the page shows of every campaign; a manifest that mqcore wrote has all of it.
constexpr std::string_view kNeeded[] = {
    "id",      "created", "state",     "comparable", "not_comparable_because",
    "mqcore",  "profile", "scenarios", "points",     "clients",
    "refused", "machine", "cores",     "broker"};

Result<void> check_manifest(const fs::path& folder, const Json& manifest) {
    for (const std::string_view key : kNeeded)
        if (!support::find(manifest, key))
            return Error{ErrorCode::wrong_input,
                         fmt::format("'{}' is not a whole campaign: its manifest has no '{}'",
                                     folder.string(), key),
                         {}};
    return {};
}

bool is_campaign(const fs::path& folder) { return fs::exists(folder / "manifest.json"); }

bool is_our_site(const fs::path& folder) {
    const Result<std::string> marker = support::read_file(folder / kMarker);
    return marker && *marker == kMarkerText;
}

// "results/x/" and "." have a name, too.
fs::path named(const fs::path& path) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

Result<std::vector<fs::path>> campaigns_in(const fs::path& results) {
    if (!fs::is_directory(results))
        return Error{ErrorCode::wrong_input,
                     fmt::format("there is no folder '{}'", results.string()),
                     "name a results folder, or the folder that holds them"};
    if (is_campaign(results))
        return std::vector{named(results)};
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(results))
        if (entry.is_directory() && is_campaign(entry.path()))
            found.push_back(entry.path());
    std::ranges::sort(found);
    if (found.empty())
        return Error{
            ErrorCode::wrong_input,
            fmt::format("'{}' holds no campaign: no manifest.json in it or in a folder of it",
                        results.string()),
            "`mqcore run` makes one"};
    return found;
}

Result<void> check_output(const fs::path& output) {
    if (!fs::exists(fs::symlink_status(output)) ||
        (fs::is_directory(output) && (fs::is_empty(output) || is_our_site(output))))
        return {};
    return Error{
        ErrorCode::wrong_input,
        fmt::format("'{}' was not made by `mqcore report` and is left as it is", output.string()),
        "name a new or an empty folder with --output"};
}

// A folder that goes away again, unless it was renamed.
struct TemporaryFolder {
    fs::path path;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

// No fsync: a site is made again in seconds.
void write_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
    std::ofstream file(path, std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    for (const std::string_view part : parts)
        file << part;
    file.close();
}

// A script instead of JSON, because a page that was opened from the disk may load no other data.
void write_script(const fs::path& path, std::string_view function, const Json& key,
                  const Json& document) {
    write_file(path, {function, "(", support::print_json(key), ",", support::print_json(document),
                      ");\n"});
}

JsonArray copy_raw_files(const fs::path& folder, const Json& manifest, const fs::path& target) {
    fs::create_directories(target);
    std::vector<fs::path> files = {folder / "manifest.json", folder / "standing.json"};
    for (const Json& client : manifest.at("clients").as_array())
        files.push_back(*campaign::file_of_client(folder, client));
    JsonArray copied;
    for (const fs::path& file : files)
        if (fs::exists(file)) {
            const fs::path copy = target / file.filename();
            fs::copy_file(file, copy);
            copied.push_back(
                JsonObject{{"name", copy.filename().string()}, {"bytes", fs::file_size(copy)}});
        }
    return copied;
}

// Writes one campaign and gives its line of the index.
Result<JsonObject> add_campaign(const fs::path& folder, const fs::path& site) {
    const std::string key = folder.filename().string();
    Result<Json> manifest = campaign::read_manifest(folder);
    if (!manifest)
        return std::move(manifest).error();
    if (const Result<void> whole = check_manifest(folder, *manifest); !whole)
        return whole.error();
    const Result<Json> standing = campaign::read_standing(folder);
    if (!standing)
        return standing.error();
    std::vector<verdict::Cell> cells;
    std::vector<JsonObject> curves;
    const Result<void> read =
        campaign::visit_cells(folder, *manifest, [&](std::span<const Json> runs) {
            verdict::Cell cell = verdict::aggregate(runs);
            if (!has_pair(*manifest, cell.client, cell.point))
                return; // no page could show it
            curves.push_back(curves_of(cell));
            cell.histograms.clear();
            cells.push_back(std::move(cell));
        });
    if (!read)
        return read.error();
    JsonObject document = campaign_document(*manifest, *standing, cells, std::move(curves));
    document["files"] = copy_raw_files(folder, *manifest, site / "raw" / key);
    write_script(site / "data" / (key + ".js"), "mqcoreCampaign", Json(key),
                 Json(std::move(document)));
    JsonObject summary = campaign_summary(*manifest, cells);
    summary["key"] = key;
    summary["standing"] = *standing;
    return summary;
}

Result<WrittenSite> fill(const SiteOptions& options, const std::vector<fs::path>& campaigns,
                         const fs::path& site) {
    fs::copy(options.page, site, fs::copy_options::recursive);
    fs::create_directories(site / "data");
    WrittenSite written;
    JsonArray index, left_out;
    for (const fs::path& folder : campaigns) {
        Result<JsonObject> line = add_campaign(folder, site);
        if (line) {
            index.push_back(std::move(*line));
            written.campaigns.push_back(folder.filename().string());
        } else if (campaigns.size() == 1) {
            return std::move(line).error();
        } else {
            written.left_out.push_back(support::one_line(line.error()));
            left_out.push_back(Json(folder.filename().string()));
            fs::remove_all(site / "raw" / folder.filename());
        }
    }
    if (written.campaigns.empty())
        return Error{ErrorCode::wrong_input,
                     fmt::format("no campaign in '{}' can be read: {}", options.results.string(),
                                 written.left_out.front()),
                     {}};
    write_script(site / "data.js", "mqcoreIndex", Json(kReportFormat),
                 JsonObject{{"campaigns", std::move(index)},
                            {"left_out", std::move(left_out)},
                            {"methodology", methodology_document()}});
    write_file(site / kMarker, {kMarkerText});
    return written;
}

void put_in_place(const fs::path& made, const fs::path& output) {
    const fs::path old = made.string() + ".old";
    const bool replaces = fs::exists(output);
    if (replaces)
        fs::rename(output, old);
    fs::rename(made, output);
    if (replaces)
        fs::remove_all(old);
}

} // namespace

Result<WrittenSite> write_site(const SiteOptions& options) try {
    if (!fs::exists(options.page / "index.html"))
        return Error{
            ErrorCode::host,
            "this mqcore was built without the report page, because npm was not there",
            "install nodejs and npm and build again (`./mqcore report` of a checkout does); "
            "`mqcore show DIR --format csv|json|markdown|…` needs neither"};
    const Result<std::vector<fs::path>> campaigns = campaigns_in(options.results);
    if (!campaigns)
        return campaigns.error();
    const fs::path output = named(options.output);
    if (const Result<void> fine = check_output(output); !fine)
        return fine.error();
    fs::create_directories(output.parent_path());
    std::string pattern = (output.parent_path() / ("." + output.filename().string() + "-XXXXXX"));
    if (!::mkdtemp(pattern.data()))
        return Error{
            ErrorCode::host, fmt::format("cannot make a folder beside '{}'", output.string()), {}};
    const TemporaryFolder temporary{pattern};
    fs::permissions(temporary.path, fs::perms(0755)); // mkdtemp's is for its owner alone
    Result<WrittenSite> written = fill(options, *campaigns, temporary.path);
    if (written)
        put_in_place(temporary.path, output);
    return written;
} catch (const std::ios_base::failure& failed) {
    return Error{ErrorCode::host, fmt::format("cannot write the site: {}", failed.what()), {}};
} catch (const fs::filesystem_error& failed) {
    return Error{ErrorCode::host, fmt::format("cannot write the site: {}", failed.what()), {}};
}

} // namespace mqcore::report
