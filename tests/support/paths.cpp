#include "support/paths.hpp"

namespace mqcore::tests {

const std::filesystem::path& source_folder() {
    static const std::filesystem::path folder = MQCORE_SOURCE_DIR;
    return folder;
}

const std::filesystem::path& build_folder() {
    static const std::filesystem::path folder = MQCORE_BUILD_DIR;
    return folder;
}

} // namespace mqcore::tests
