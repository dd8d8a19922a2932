#include "machine/mosquitto.hpp"

#include "support/subprocess.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace mqcore::machine {
namespace {

constexpr const char* kServerFolders = "/usr/sbin:/usr/local/sbin:/sbin:/opt/homebrew/sbin";

std::string_view server_folders() {
    const char* given = std::getenv("MQCORE_SERVER_PATH");
    return given ? given : kServerFolders;
}

std::optional<std::filesystem::path> find_in(std::string_view folders, std::string_view name) {
    while (!folders.empty()) {
        const std::size_t end = std::min(folders.find(':'), folders.size());
        const auto file = std::filesystem::path(folders.substr(0, end)) / name;
        if (end > 0 && ::access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file))
            return file;
        folders.remove_prefix(std::min(end + 1, folders.size()));
    }
    return std::nullopt;
}

} // namespace

std::optional<std::filesystem::path> find_program(std::string_view name) {
    const char* path = std::getenv("PATH");
    if (auto found = find_in(path ? path : "", name))
        return found;
    return find_in(server_folders(), name);
}

support::Result<Mosquitto> find_mosquitto() {
    constexpr const char* kHowToInstall =
        "install it ('apt-get install mosquitto'), or give a running broker with --broker "
        "mqtt://host:port";
    const auto program = find_program("mosquitto");
    if (!program)
        return support::Error{support::ErrorCode::host,
                              fmt::format("the broker 'mosquitto' is not installed: it is neither "
                                          "in PATH nor in {}",
                                          server_folders()),
                              kHowToInstall};
    // -h prints the version in its first line; its exit code differs between versions.
    const auto output = support::run_program({program->string(), "-h"}, std::chrono::seconds(5));
    if (!output)
        return output.error();
    constexpr std::string_view kBefore = "mosquitto version ";
    const std::string text = output->out + output->err;
    const std::size_t at = text.find(kBefore);
    if (at == std::string::npos)
        return support::Error{support::ErrorCode::host,
                              fmt::format("'{}' does not say its version", program->string()),
                              kHowToInstall};
    const std::size_t start = at + kBefore.size();
    return Mosquitto{.program = *program,
                     .version = text.substr(start, text.find_first_of(" \n", start) - start)};
}

} // namespace mqcore::machine
