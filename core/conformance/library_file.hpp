#pragma once
// What a shared library's file says about itself, read without loading it. ELF, 64 bits, of this machine's
// byte order: what else there is does not load here.

#include "support/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mqcore::conformance {

struct LibraryFile {
    std::vector<std::string> exported; // names of the symbols that it defines for others, sorted
    bool wants_executable_stack = false;
};

// Any file can be given: one that is no such library, or ends in its middle, is an Error.
support::Result<LibraryFile> read_library(const std::filesystem::path& file);

} // namespace mqcore::conformance
