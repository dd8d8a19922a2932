#pragma once
// A private folder (0700) for what a session needs on disk: the broker's configuration and keys.
// Removed with everything in it when its owner goes.

#include "support/result.hpp"

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
    explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_; // empty: moved from
};

} // namespace mqcore::session
