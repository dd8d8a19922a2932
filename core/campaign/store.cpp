#include "campaign/store.hpp"

#include "driver/client_reference.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>

namespace mqcore::campaign {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;
using support::Json;
using support::JsonObject;

constexpr std::string_view kStandingFile = "standing.json";

Error cannot_make(const fs::path& folder, const std::error_code& why) {
    return {ErrorCode::host,
            fmt::format("cannot make the results folder '{}': {}", folder.string(), why.message()),
            {}};
}

support::Result<Json> read_json(const fs::path& file) {
    support::Result<std::string> text = support::read_file(file);
    if (!text)
        return std::move(text).error();
    return support::parse_json(*text, file.string());
}

support::Result<void> check_format(std::string_view format, const fs::path& where) {
    if (format == kResultsFormat)
        return {};
    return Error{ErrorCode::wrong_input,
                 fmt::format("'{}' has the format '{}', this mqcore reads '{}'", where.string(),
                             support::brief(format), kResultsFormat),
                 {}};
}

} // namespace

support::Result<ResultStore> ResultStore::create(const fs::path& wanted, const fs::path& parent,
                                                 const std::string& name) {
    std::error_code why;
    fs::path folder = wanted;
    if (!wanted.empty()) {
        fs::create_directories(wanted, why);
        if (why)
            return cannot_make(wanted, why);
        if (!fs::is_empty(wanted, why) || why)
            return Error{ErrorCode::wrong_input,
                         fmt::format("the results folder '{}' is not empty", wanted.string()),
                         "mqcore never writes over results; name a new folder"};
    } else {
        fs::create_directories(parent, why);
        if (why)
            return cannot_make(parent, why);
        // Making the folder is what claims the name, so that two campaigns at once never share one.
        for (int n = 1;; ++n) {
            folder = parent / (n == 1 ? name : fmt::format("{}-{}", name, n));
            if (fs::create_directory(folder, why))
                break;
            if (why)
                return cannot_make(folder, why);
        }
    }
    for (const char* inner : {"logs", "scenarios"})
        if (!fs::create_directory(folder / inner, why))
            return cannot_make(folder / inner, why);
    support::sync_folder(folder);
    support::sync_folder(folder.parent_path());
    return lock(std::move(folder));
}

support::Result<ResultStore> ResultStore::lock(fs::path folder) {
    support::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A file system without locks protects nobody, and refuses nobody.
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return Error{ErrorCode::wrong_input,
                     fmt::format("another mqcore is running the campaign in '{}'", folder.string()),
                     {}};
    return ResultStore(std::move(folder), std::move(fd));
}

support::Result<ResultStore> ResultStore::reopen(const fs::path& folder) {
    support::Result<ResultStore> store = lock(folder);
    if (!store)
        return store;
    if (fs::exists(folder / "scenarios") && !fs::exists(folder / "manifest.json"))
        return Error{ErrorCode::wrong_input,
                     fmt::format("the campaign in '{}' ended before its first run: there is "
                                 "nothing to go on with",
                                 folder.string()),
                     "remove the folder and start the campaign anew"};
    support::Result<StoredCampaign> stored = read_campaign(folder);
    if (!stored)
        return std::move(stored).error();
    // Half-written files of a process that was killed.
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (entry.path().extension() == ".part")
            fs::remove(entry.path(), ignored);
    store->first_manifest_ = std::move(stored->manifest);
    for (const Json& run : stored->runs)
        store->by_client_[support::text_or(run, "client_name", "")].push_back(run);
    store->runs_ = std::move(stored->runs);
    return store;
}

support::Result<void> ResultStore::write_scenario(std::string_view name, std::string_view content) {
    return support::write_file_atomically(scenario_file(name), content);
}

support::Result<void> ResultStore::write_manifest(const Json& manifest) {
    return support::write_file_atomically(folder_ / "manifest.json",
                                          support::print_json_pretty(manifest));
}

support::Result<void> ResultStore::add_run(const std::string& client, Json run) {
    support::JsonArray& runs = by_client_[client];
    runs.push_back(run);
    const JsonObject document{{"format", kResultsFormat}, {"client", client}, {"runs", runs}};
    support::Result<void> written =
        support::write_file_atomically(folder_ / (driver::file_name_of_client(client) + ".json"),
                                       support::print_json_pretty(document));
    if (written)
        runs_.push_back(std::move(run));
    else
        runs.pop_back();
    return written;
}

support::Result<Json> read_manifest(const fs::path& folder) {
    support::Result<Json> manifest = read_json(folder / "manifest.json");
    if (!manifest)
        return Error{
            ErrorCode::wrong_input,
            fmt::format("'{}' is no results folder: {}", folder.string(), manifest.error().message),
            {}};
    if (const auto fine = check_format(support::text_or(*manifest, "format", ""), folder); !fine)
        return fine.error();
    const Json* clients = support::find(*manifest, "clients");
    if (!clients || !clients->is_array())
        return Error{ErrorCode::wrong_input,
                     fmt::format("'{}' has no list of clients in its manifest", folder.string()),
                     {}};
    for (const Json& client : clients->get_array())
        if (!file_of_client(folder, client))
            return Error{ErrorCode::wrong_input,
                         fmt::format("'{}' has a client '{}' in its manifest, which cannot be a "
                                     "file's name",
                                     folder.string(),
                                     support::brief(support::text_or(client, "id", ""))),
                         {}};
    return manifest;
}

std::optional<fs::path> file_of_client(const fs::path& folder, const Json& client) {
    const std::string id = support::text_or(client, "id", "");
    if (id.empty() || id.front() == '.' || id.find_first_of(std::string_view("/\0", 2)) != id.npos)
        return std::nullopt;
    return folder / (driver::file_name_of_client(id) + ".json");
}

support::Result<void> visit_cells(const fs::path& folder, const Json& manifest,
                                  const std::function<void(std::span<const Json>)>& visit) {
    for (const Json& client : manifest.at("clients").as_array()) {
        const fs::path file = *file_of_client(folder, client);
        if (!fs::exists(file))
            continue; // it was refused everywhere, or the campaign ended before its first run
        support::Result<std::string> text = support::read_file(file);
        if (!text)
            return std::move(text).error();
        std::string_view runs, format;
        std::vector<std::pair<std::string_view, std::vector<std::string_view>>> cells;
        const bool is_whole = support::cut_json(*text, [&](std::string_view key, auto member) {
            runs = key == "runs" ? member : runs;
            if (key == "format" && member.size() > 1)
                format = member.substr(1, member.size() - 2); // without its quotes
            return true;
        });
        if (const auto fine = check_format(format, file); is_whole && !fine)
            return fine.error();
        const bool has_runs =
            is_whole && support::cut_json(runs, [&](std::string_view, std::string_view run) {
                std::string_view point;
                support::cut_json(run, [&](std::string_view key, std::string_view member) {
                    point = key == "point" ? member : point;
                    return point.empty();
                });
                auto found = std::ranges::find(cells, point, [](auto& cell) { return cell.first; });
                if (found == cells.end())
                    found = cells.insert(cells.end(), {point, {}});
                found->second.push_back(run);
                return true;
            });
        if (!has_runs) {
            support::Result<Json> whole = support::parse_json(*text, file.string());
            if (!whole)
                return std::move(whole).error();
            return Error{
                ErrorCode::wrong_input, fmt::format("'{}' holds no runs", file.string()), {}};
        }
        const std::string id = support::text_or(client, "id", "");
        for (const auto& [point, texts] : cells) {
            boost::json::monotonic_resource arena; // freed at once: half the time of the heap
            std::vector<Json> documents;
            for (const std::string_view run : texts) {
                support::Result<Json> document = support::parse_json(run, file.string(), &arena);
                if (!document) { // said again with the line of the file
                    support::Result<Json> whole = support::parse_json(*text, file.string());
                    return std::move(whole ? document.error() : whole.error());
                }
                if (support::text_or(*document, "client_name", "") != id ||
                    support::text_or(*document, "point", "").empty())
                    return Error{ErrorCode::wrong_input,
                                 fmt::format("'{}' holds a run that is not of '{}' on a point: {}",
                                             file.string(), id,
                                             support::brief(support::print_json(*document))),
                                 {}};
                documents.push_back(std::move(*document));
            }
            visit(documents);
        }
    }
    return {};
}

support::Result<Json> read_standing(const fs::path& folder) {
    return fs::exists(folder / kStandingFile) ? read_json(folder / kStandingFile) : Json(nullptr);
}

namespace {

// The files that a list of the manifest names with their hashes.
void add_changed(std::vector<std::string>& changed, const fs::path& folder, const char* subfolder,
                 const Json* list) {
    if (!list || !list->is_array())
        return;
    for (const Json& item : list->get_array()) {
        const fs::path file = fs::path(subfolder) / support::text_or(item, "file", "");
        const support::Result<std::string> hash = support::sha256_of_file(folder / file);
        if (!hash || *hash != support::text_or(item, "sha256", ""))
            changed.push_back(file.string());
    }
}

std::vector<std::string> changed_files(const fs::path& folder, const Json& manifest) {
    std::vector<std::string> changed;
    // Scenarios were not kept before a campaign could go on in a further session.
    if (support::find(manifest, "sessions"))
        add_changed(changed, folder, "scenarios", support::find(manifest, "scenarios"));
    if (const Json* profiler = support::find(manifest, "profiler"))
        add_changed(changed, folder, kProfileFolder, support::find(*profiler, "files"));
    return changed;
}

} // namespace

support::Result<StoredCampaign> read_campaign(const fs::path& folder) {
    support::Result<Json> manifest = read_manifest(folder);
    if (!manifest)
        return std::move(manifest).error();
    StoredCampaign campaign;
    campaign.manifest = std::move(*manifest);
    campaign.changed_files = changed_files(folder, campaign.manifest);
    support::Result<Json> standing = read_standing(folder);
    if (!standing)
        return std::move(standing).error();
    campaign.standing = std::move(*standing);
    const support::Result<void> read =
        visit_cells(folder, campaign.manifest, [&](std::span<const Json> runs) {
            for (const Json& run : runs)
                campaign.runs.emplace_back(run, boost::json::storage_ptr()); // out of the arena
        });
    if (!read)
        return read.error();
    std::set<fs::path> expected = {folder / "manifest.json", folder / kStandingFile};
    for (const Json& client : campaign.manifest.at("clients").as_array())
        expected.insert(*file_of_client(folder, client));
    std::error_code why;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, why))
        if (entry.path().extension() == ".json" && !expected.contains(entry.path()))
            campaign.unexpected_files.push_back(entry.path().filename().string());
    if (why)
        return Error{ErrorCode::host,
                     fmt::format("cannot list '{}': {}", folder.string(), why.message()),
                     {}};
    std::ranges::sort(campaign.unexpected_files);
    return campaign;
}

support::Result<void> mark_standing(const fs::path& folder, std::string_view standing,
                                    const std::string& reason) {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const JsonObject mark{{"format", kResultsFormat},
                          {"standing", standing},
                          {"reason", reason},
                          {"at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))}};
    return support::write_file_atomically(folder / kStandingFile, support::print_json_pretty(mark));
}

} // namespace mqcore::campaign
