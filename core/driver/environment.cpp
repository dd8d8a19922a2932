#include "driver/environment.hpp"

#include "support/subprocess.hpp"

#include <chrono>
#include <fmt/format.h>

namespace mqcore::driver {
namespace {

using namespace std::chrono_literals;
using support::Error;
using support::ErrorCode;
using support::ErrorStream;
using support::Json;
using support::Result;

constexpr auto kQuickLimit = std::chrono::milliseconds(60s);
constexpr auto kSyncLimit = std::chrono::milliseconds(30min); // a build from source, a slow network

struct Verb {
    std::string_view name;
    std::chrono::milliseconds limit;
    ErrorStream error_stream;
};

constexpr Verb kStatus{"status", kQuickLimit, ErrorStream::capture};
constexpr Verb kSync{"sync", kSyncLimit, ErrorStream::pass_on};
constexpr Verb kList{"list", kQuickLimit, ErrorStream::capture};
constexpr Verb kRemove{"remove", kQuickLimit, ErrorStream::capture};

Result<Json> run_tool(const Host& host, const Verb& verb, const std::vector<std::string>& options);
Result<Environment> ask(const Verb& verb, const Descriptor& driver, const Host* host,
                        const EnvironmentOptions& options);

std::vector<std::string> folder_option(const Descriptor& driver) {
    return {"--driver-folder", driver.folder.string()};
}

} // namespace

bool needs_environment(const Host* host) { return host && !host->environment.empty(); }

Result<Environment> environment_status(const Descriptor& driver, const Host* host,
                                       const EnvironmentOptions& options) {
    return ask(kStatus, driver, host, options);
}

Result<Environment> sync_environment(const Descriptor& driver, const Host* host,
                                     const EnvironmentOptions& options) {
    return ask(kSync, driver, host, options);
}

Result<Json> list_environments(const Host& host) { return run_tool(host, kList, {}); }

Result<Json> remove_environment(const Descriptor& driver, const Host& host) {
    return run_tool(host, kRemove, folder_option(driver));
}

namespace {

Result<Environment> ask(const Verb& verb, const Descriptor& driver, const Host* host,
                        const EnvironmentOptions& options) {
    if (!needs_environment(host))
        return Environment{.is_ready = true, .path = {}, .reason = {}, .facts = {}};
    std::vector<std::string> arguments = folder_option(driver);
    if (!options.interpreter.empty()) {
        arguments.emplace_back("--interpreter");
        arguments.push_back(options.interpreter);
    }
    if (!options.wheels.empty() && verb.name == kSync.name) {
        arguments.emplace_back("--wheels");
        arguments.push_back(options.wheels.string());
    }
    const Result<Json> answer = run_tool(*host, verb, arguments);
    if (!answer)
        return answer.error();
    Environment environment{.is_ready = support::boolean_or(*answer, "ready", false),
                            .path = support::text_or(*answer, "path", ""),
                            .reason = support::text_or(*answer, "reason", ""),
                            .facts = {}};
    if (const Json* facts = support::find(*answer, "facts"); facts && facts->is_object())
        environment.facts = facts->get_object();
    if (!environment.is_ready && environment.reason.empty())
        environment.reason =
            fmt::format("the environment tool of host '{}' gave no reason", host->id);
    return environment;
}

std::string last_line(std::string_view text) {
    while (text.ends_with('\n') || text.ends_with('\r'))
        text.remove_suffix(1);
    const std::size_t start = text.rfind('\n');
    return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

Result<Json> run_tool(const Host& host, const Verb& verb, const std::vector<std::string>& options) {
    const std::string name = fmt::format("the environment tool of host '{}'", host.id);
    if (host.environment.empty())
        return Error{
            ErrorCode::driver, fmt::format("host '{}' has no environment tool", host.id), {}};
    std::vector<std::string> command = host.environment;
    command.emplace_back(verb.name);
    command.insert(command.end(), options.begin(), options.end());
    const Result<support::ProgramOutput> output =
        support::run_program(command, verb.limit, verb.error_stream);
    if (!output)
        return Error{ErrorCode::host, fmt::format("{}: {}", name, output.error().message),
                     output.error().hint};
    if (output->exit_code != 0)
        return Error{
            ErrorCode::host,
            fmt::format("{} failed at '{}' with exit code {}", name, verb.name, output->exit_code),
            last_line(output->err)};
    const Result<Json> answer = support::parse_json(output->out, name);
    if (!answer)
        return Error{ErrorCode::driver, answer.error().message, {}};
    if (!answer->is_object())
        return Error{
            ErrorCode::driver,
            fmt::format("{} answered '{}' with something else than a JSON object", name, verb.name),
            {}};
    return *answer;
}

} // namespace
} // namespace mqcore::driver
