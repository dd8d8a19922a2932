#pragma once
// Where this checkout and its build are. One object of all tests knows (paths.cpp), so that a compiler cache
// serves the others in every checkout.

#include <filesystem>

namespace mqcore::tests {

const std::filesystem::path& source_folder();
const std::filesystem::path& build_folder();

} // namespace mqcore::tests
