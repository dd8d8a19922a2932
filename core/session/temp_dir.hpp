#pragma once
// A private folder (0700) for what a session needs on disk: the broker's configuration and keys.
// Removed with everything in it when its owner goes. An owner that was killed could not do that, so
// each new one also removes the folders whose owners are gone.

#include "support/result.hpp"
#include "support/unique_fd.hpp"

#include <filesystem>

namespace mqcore::session {

class TempDir {
  public:
    static support::Result<TempDir> create();
    TempDir(TempDir&& other) noexcept;
    TempDir& operator=(TempDir&&) = delete;
    ~TempDir();

    const std::filesystem::path& path() const { return path_; }

  private:
    TempDir(std::filesystem::path path, support::UniqueFd lock)
        : path_(std::move(path)), lock_(std::move(lock)) {}
    std::filesystem::path path_; // empty: moved from
    // Held while the owner lives: the kernel lets go of it however the owner ends, and, unlike a
    // process number, it means the same in every container that shares the folder.
    support::UniqueFd lock_;
};

} // namespace mqcore::session
