#pragma once
// A session's folder for a test, and the fake party's path.

#include "session/temp_dir.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace mqcore::test {

inline session::TempDir scratch() {
    auto folder = session::TempDir::create();
    REQUIRE(folder);
    return std::move(*folder);
}

inline std::filesystem::path fake_party() {
    return mqcore::tests::build_folder() / "bin/session-fake-party";
}

} // namespace mqcore::test
