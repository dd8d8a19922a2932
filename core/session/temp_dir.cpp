#include "session/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace mqcore::session {

support::Result<TempDir> TempDir::create() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string pattern = ((error ? "/tmp" : parent) / "mqcore-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) // mode 0700
        return support::Error{
            support::ErrorCode::host,
            fmt::format("cannot make a temporary folder '{}': {}", pattern, std::strerror(errno)),
            "set TMPDIR to a folder that can be written to"};
    return TempDir(pattern);
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir::~TempDir() {
    if (std::error_code ignored; !path_.empty())
        std::filesystem::remove_all(path_, ignored);
}

} // namespace mqcore::session
