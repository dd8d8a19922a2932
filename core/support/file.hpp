#pragma once
// Files, whole or not at all.

#include "support/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace mqcore::support {

Result<std::string> read_file(const std::filesystem::path& path);

// Writes a temporary file beside `path`, flushes it to the disk and renames it over `path`, so that
// a reader (or a crash, or a full disk) finds the old content or the new one, never a part.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Makes the entries of a folder last through a loss of power: a new file or folder in it, a new name.
void sync_folder(const std::filesystem::path& folder);

// SHA-256 in lower-case hexadecimal.
std::string sha256(std::string_view content);
Result<std::string> sha256_of_file(const std::filesystem::path& path);

} // namespace mqcore::support
