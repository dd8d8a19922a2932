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
constexpr Verb kLock{"lock", kSyncLimit, ErrorStream::pass_on};

Result<Json> run_tool(const Host& host, const Verb& verb, const std::vector<std::string>& options);
Result<Environment> ask(const Verb& verb, const Descriptor& driver, const Host* host,
                        const EnvironmentOptions& options);

// Whose environment is meant.
std::vector<std::string> subject_of(const Descriptor& driver) {
    std::vector<std::string> options{"--driver-folder", driver.folder.string()};
    if (!driver.choice.version.empty())
        options.insert(options.end(), {"--version", driver.choice.version});
    if (!driver.choice.checkout.empty())
        options.insert(options.end(), {"--checkout", driver.choice.checkout.string()});
    return options;
}

void add_options(const EnvironmentOptions& from, std::vector<std::string>& options) {
    if (!from.interpreter.empty())
        options.insert(options.end(), {"--interpreter", from.interpreter});
    if (!from.wheels.empty())
        options.insert(options.end(), {"--wheels", from.wheels.string()});
}

} // namespace

bool needs_environment(const Host* host) { return host && !host->environment.empty(); }

Result<Environment> environment_status(const Descriptor& driver, const Host* host,
                                       const EnvironmentOptions& options) {
    return ask(kStatus, driver, host, options);
}

Result<Environment> sync_environment(const Descriptor& driver, const Host* host,
                                     const EnvironmentOptions& options) {
    Result<Environment> made = ask(kSync, driver, host, options);
    if (!made)
        return Error{made.error().code,
                     fmt::format("the environment of '{}' cannot be made: {}", driver.id,
                                 made.error().message),
                     made.error().hint};
    return made;
}

Result<Json> list_environments(const Host& host) { return run_tool(host, kList, {}); }

Result<Json> remove_environment(const Descriptor& driver, const Host& host) {
    return run_tool(host, kRemove, subject_of(driver));
}

Result<Json> lock_packages(const Descriptor& driver, const Host& host,
                           const EnvironmentOptions& options) {
    std::vector<std::string> arguments{"--driver-folder", driver.folder.string()};
    add_options(options, arguments);
    return run_tool(host, kLock, arguments);
}

namespace {

Result<Environment> ask(const Verb& verb, const Descriptor& driver, const Host* host,
                        const EnvironmentOptions& options) {
    if (!needs_environment(host))
        return Environment{.is_ready = true, .path = {}, .reason = {}, .facts = {}};
    std::vector<std::string> arguments = subject_of(driver);
    add_options(verb.name == kSync.name
                    ? options
                    : EnvironmentOptions{.interpreter = options.interpreter, .wheels = {}},
                arguments);
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
    if (output->exit_code != 0) {
        // A refusal is for people; anything else is the tool's own fault.
        if (const Result<Json> refusal = support::parse_json(output->out, name))
            if (std::string reason = support::text_or(*refusal, "reason", ""); !reason.empty())
                return Error{ErrorCode::host, std::move(reason), {}};
        return Error{
            ErrorCode::host,
            fmt::format("{} failed at '{}' with exit code {}", name, verb.name, output->exit_code),
            last_line(output->err)};
    }
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
