#pragma once
// A campaign's results folder: manifest.json and one <client>.json a client. Each file is written
// whole or not at all, after every run, so whatever dies loses at most the run in progress. The format
// is docs/results.schema.json.

#include "support/json.hpp"
#include "support/result.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mqcore::campaign {

constexpr std::string_view kResultsFormat = "mqcore-results/1";

class ResultStore {
  public:
    // Makes a new folder: `wanted`, which must not exist or be empty, or, when `wanted` is empty, one
    // named after `name` in `parent` ("-2", "-3", … when there is one already). It holds a folder
    // logs/ for the runs' logs.
    static support::Result<ResultStore> create(const std::filesystem::path& wanted,
                                               const std::filesystem::path& parent,
                                               const std::string& name);

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path logs() const { return folder_ / "logs"; }

    support::Result<void> write_manifest(const support::Json& manifest);
    // Appends a run document to its client's file.
    support::Result<void> add_run(const std::string& client, support::Json run);
    // All run documents, in the order in which they were added.
    const std::vector<support::Json>& runs() const { return runs_; }

  private:
    explicit ResultStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::filesystem::path folder_;
    std::vector<support::Json> runs_;
    std::map<std::string, support::JsonArray> by_client_;
};

// A finished or interrupted campaign, read back.
struct StoredCampaign {
    support::Json manifest;
    std::vector<support::Json> runs; // by client in the manifest's order
};

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
