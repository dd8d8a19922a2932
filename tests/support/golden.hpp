#pragma once
// Comparing a text with its committed copy, to the byte. MQCORE_UPDATE_GOLDEN=1 in the environment
// writes the copy instead: run the test so, read the difference with git, commit it.

#include "support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mqcore::tests {

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void check_golden(const std::filesystem::path& copy, const std::string& text) {
    INFO("accept with MQCORE_UPDATE_GOLDEN=1: " << copy.string());
    if (const char* update = std::getenv("MQCORE_UPDATE_GOLDEN"); update && *update == '1')
        std::ofstream(copy, std::ios::binary) << text;
    CHECK(text == content_of(copy));
}

} // namespace mqcore::tests
