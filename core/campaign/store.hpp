#pragma once
// A campaign's results folder: manifest.json, one <client>.json a client and the texts of its scenario
// files in scenarios/. Each file is written whole or not at all, after every run, so whatever dies loses
// at most the run in progress. The format is docs/results.schema.json. One process at a time writes to a
// folder: it is locked for as long as the store lives.

#include "support/json.hpp"
#include "support/result.hpp"
#include "support/unique_fd.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mqcore::campaign {

constexpr std::string_view kResultsFormat = "mqcore-results/1";

// The folder in a results folder that holds the files of a profiler.
constexpr const char* kProfileFolder = "profile";

class ResultStore {
  public:
    // Makes a new folder: `wanted`, which must not exist or be empty, or, when `wanted` is empty, one
    // named after `name` in `parent` ("-2", "-3", … when there is one already). It holds a folder
    // logs/ for the runs' logs.
    static support::Result<ResultStore> create(const std::filesystem::path& wanted,
                                               const std::filesystem::path& parent,
                                               const std::string& name);

    // An existing one, to go on with. An Error when another mqcore writes to it.
    static support::Result<ResultStore> reopen(const std::filesystem::path& folder);

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path logs() const { return folder_ / "logs"; }

    std::filesystem::path scenario_file(std::string_view name) const {
        return folder_ / "scenarios" / name;
    }

    support::Result<void> write_scenario(std::string_view name, std::string_view content);
    // As it was when the folder was reopened; null for a new one.
    const support::Json& first_manifest() const { return first_manifest_; }
    support::Result<void> write_manifest(const support::Json& manifest);
    // Appends a run document to its client's file.
    support::Result<void> add_run(const std::string& client, support::Json run);
    // All run documents: those of a reopened folder by client, then the others as they were added.
    const std::vector<support::Json>& runs() const { return runs_; }

  private:
    static support::Result<ResultStore> lock(std::filesystem::path folder);
    ResultStore(std::filesystem::path folder, support::UniqueFd lock)
        : folder_(std::move(folder)), lock_(std::move(lock)) {}

    std::filesystem::path folder_;
    support::UniqueFd lock_;
    support::Json first_manifest_;
    std::vector<support::Json> runs_;
    std::map<std::string, support::JsonArray> by_client_;
};

// A finished or interrupted campaign, read back.
struct StoredCampaign {
    support::Json manifest;
    std::vector<support::Json> runs;           // by client in the manifest's order
    std::vector<std::string> unexpected_files; // names of .json files that belong to no client
    std::vector<std::string>
        changed_files;      // that the manifest has a hash of: gone or not as they were
    support::Json standing; // {"standing", "reason", "at"}, null: nobody took it back
};

// Marks a campaign as "superseded" or "retracted", in a file of its own beside the raw data, which stay
// as they are. Replaces an earlier mark.
support::Result<void> mark_standing(const std::filesystem::path& folder, std::string_view standing,
                                    const std::string& reason);

// {"standing", "reason", "at"}, null: nobody took the campaign back.
support::Result<support::Json> read_standing(const std::filesystem::path& folder);
support::Result<StoredCampaign> read_campaign(const std::filesystem::path& folder);

// The same for folders of any size. The manifest alone; its format and its list of clients are checked:
support::Result<support::Json> read_manifest(const std::filesystem::path& folder);
// and the runs, cell by cell: all of one client on one point, clients in the manifest's order, points
// in that of the file. Memory holds one client's text and one parsed cell at a time: what `visit` keeps
// of a run it copies into values of its own.
support::Result<void> visit_cells(const std::filesystem::path& folder,
                                  const support::Json& manifest,
                                  const std::function<void(std::span<const support::Json>)>& visit);

// Where a client's runs are. Nothing: its id cannot be a file name.
std::optional<std::filesystem::path> file_of_client(const std::filesystem::path& folder,
                                                    const support::Json& client);

} // namespace mqcore::campaign
