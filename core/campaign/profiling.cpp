#include "campaign/profiling.hpp"

#include "machine/mosquitto.hpp"
#include "support/file.hpp"
#include "support/subprocess.hpp"
#include "support/text.hpp"

#include <array>
#include <fmt/format.h>

namespace mqcore::campaign {
namespace {

namespace fs = std::filesystem;
using machine::Command;
using machine::Filling;
using machine::ProfileFile;
using support::Error;
using support::ErrorCode;
using support::JsonArray;
using support::JsonObject;
using support::Result;

constexpr std::size_t kHottestKept = 50;
constexpr std::chrono::minutes kConvertLimit{5};

// The command with its folder, and with its program's path, as no shell looks for it.
Result<Command> ready(const Profiling& profiling, const Command& command, const fs::path& folder) {
    const std::string place = fs::absolute(folder).string();
    const std::array fillings = {Filling{"folder", place},
                                 Filling{"environment", profiling.environment}};
    Command filled = machine::filled(command, fillings);
    if (filled.empty() || filled.front().find('/') != std::string::npos)
        return filled;
    const auto program = machine::find_program(filled.front());
    if (!program)
        return Error{ErrorCode::host,
                     fmt::format("'{}' is not in PATH, and {} needs it", filled.front(),
                                 profiling.profiler->name),
                     profiling.profiler->how_to_get};
    filled.front() = program->string();
    return filled;
}

Result<void> make_file(const Profiling& profiling, const ProfileFile& file,
                       const fs::path& folder) {
    Result<Command> command = ready(profiling, file.command, folder);
    if (!command)
        return std::move(command).error();
    Result<support::ProgramOutput> output = support::run_program(*command, kConvertLimit);
    if (!output)
        return std::move(output).error();
    if (output->exit_code != 0)
        return Error{ErrorCode::host,
                     fmt::format("'{}' ended with exit code {}: {}", file.command.front(),
                                 output->exit_code, support::brief(output->err, 200)),
                     {}};
    return support::write_file_atomically(folder / file.name,
                                          file.convert ? file.convert(output->out) : output->out);
}

} // namespace

std::string profiler_of(const support::Json& manifest) {
    const support::Json* profiler = support::find(manifest, "profiler");
    return profiler ? support::text_or(*profiler, "tool", "unknown") : "";
}

std::string why_not_comparable(const Profiling& profiling) {
    return fmt::format("profiled with {}", profiling.profiler->name);
}

JsonObject to_json(const Profiling& profiling) {
    return {{"tool", profiling.profiler->name},
            {"version", profiling.version},
            {"shows", profiling.profiler->shows},
            {"files", JsonArray{}},
            {"counted", profiling.profiler->counted},
            {"count", 0},
            {"hottest", JsonArray{}},
            {"unavailable", nullptr}};
}

Result<session::Attachment> attachment(const Profiling& profiling, const fs::path& folder) {
    std::error_code why;
    fs::create_directory(folder, why);
    if (why)
        return Error{ErrorCode::host,
                     fmt::format("cannot make the folder '{}': {}", folder.string(), why.message()),
                     {}};
    session::Attachment attached{
        .name = profiling.profiler->name, .around = {}, .begin = {}, .end = {}};
    attached.slowdown = profiling.profiler->slowdown;
    for (const auto& [command, to] : {std::pair(&machine::Profiler::around, &attached.around),
                                      {&machine::Profiler::begin, &attached.begin},
                                      {&machine::Profiler::end, &attached.end}}) {
        Result<Command> filled = ready(profiling, profiling.profiler->*command, folder);
        if (!filled)
            return std::move(filled).error();
        *to = std::move(*filled);
    }
    return attached;
}

Result<JsonObject> collect_profile(const Profiling& profiling, const fs::path& folder) {
    const machine::Profiler& profiler = *profiling.profiler;
    JsonArray files;
    machine::Hotspots hotspots;
    for (const ProfileFile& file : profiler.files) {
        const fs::path path = folder / file.name;
        if (!file.command.empty())
            if (Result<void> made = make_file(profiling, file, folder); !made)
                return std::move(made).error();
        std::error_code why;
        const auto bytes = fs::file_size(path, why);
        if (why || bytes == 0)
            return Error{ErrorCode::host,
                         fmt::format("{} left {} '{}'", profiler.name, why ? "no" : "an empty",
                                     path.string()),
                         "the run's log says why"};
        Result<std::string> hash = support::sha256_of_file(path);
        if (!hash)
            return std::move(hash).error();
        files.push_back(JsonObject{
            {"file", file.name}, {"holds", file.holds}, {"bytes", bytes}, {"sha256", *hash}});
        if (std::string_view(file.name) != profiler.hottest_in)
            continue;
        Result<std::string> text = support::read_file(path);
        if (!text)
            return std::move(text).error();
        hotspots = profiler.hottest(*text);
    }
    if (hotspots.functions.empty())
        return Error{ErrorCode::host,
                     fmt::format("{} saw nothing of the client in the window", profiler.name),
                     "a longer window (--seconds) or a point with more load shows more"};
    JsonArray hottest;
    for (const machine::Hotspot& spot : hotspots.functions)
        if (hottest.size() < kHottestKept)
            hottest.push_back(JsonObject{
                {"function", spot.function}, {"self", spot.self}, {"total", spot.total}});
    return JsonObject{{"files", std::move(files)},
                      {"counted", profiler.counted},
                      {"count", hotspots.count},
                      {"hottest", std::move(hottest)}};
}

} // namespace mqcore::campaign
