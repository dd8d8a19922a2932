#include "driver/project.hpp"

#include "driver/claim_names.hpp"
#include "driver/descriptor.hpp"
#include "support/diagnostic.hpp"
#include "support/file.hpp"
#include "support/schema.hpp"
#include "support/subprocess.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <unistd.h>
#include <utility>

namespace mqcore::driver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using support::CheckedTable;
using support::Error;
using support::ErrorCode;
using support::KeyType;
using support::Presence;
using support::Result;

constexpr std::string_view kEvery = "all"; // the folder of what all languages, or all shapes, have
constexpr std::string_view kTemplateId = "my-driver";
constexpr auto kToolLimit = std::chrono::milliseconds(20s);

const support::Schema& template_schema();
Result<Language> read_language(const fs::path& folder);
Result<std::map<fs::path, fs::path>> sources_of(const NewProject& wanted, const Language& language);
std::string filled_in(std::string text, const NewProject& wanted, const Language& language);

} // namespace

Result<std::vector<Language>> languages_in(const fs::path& templates) {
    std::vector<Language> languages;
    std::error_code unreadable;
    for (const fs::directory_entry& entry : fs::directory_iterator(templates, unreadable)) {
        if (!fs::exists(entry.path() / "template.toml", unreadable))
            continue;
        Result<Language> language = read_language(entry.path());
        if (!language)
            return std::move(language).error();
        languages.push_back(*std::move(language));
    }
    if (languages.empty())
        return Error{ErrorCode::host,
                     fmt::format("there are no templates of drivers in '{}'", templates.string()),
                     "they belong to mqcore: install it again"};
    std::ranges::sort(languages, {}, &Language::id);
    return languages;
}

Result<std::vector<std::string>> make_project(const NewProject& wanted, const Language& language) {
    const auto cannot = [&](const std::error_code& why) {
        return Error{ErrorCode::host,
                     fmt::format("'{}' cannot be made: {}", wanted.folder.string(), why.message()),
                     {}};
    };
    std::error_code failed;
    if (fs::exists(fs::symlink_status(wanted.folder, failed)))
        return Error{ErrorCode::wrong_input,
                     fmt::format("'{}' is there already, and nothing is written over",
                                 wanted.folder.string()),
                     "choose another name, or another folder with --output"};
    const Result<std::map<fs::path, fs::path>> sources = sources_of(wanted, language);
    if (!sources)
        return sources.error();

    // Beside its place and then renamed into it, so that there is never a part of a project.
    fs::path fresh = wanted.folder;
    fresh += fmt::format(".new-{}", getpid());
    const auto make = [&]() -> Result<std::vector<std::string>> {
        std::vector<std::string> files;
        for (const auto& [name, source] : *sources) {
            const Result<std::string> text = support::read_file(source);
            if (!text)
                return text.error();
            const fs::path target = fresh / name;
            if (fs::create_directories(target.parent_path(), failed); failed)
                return cannot(failed);
            if (Result<void> written =
                    support::write_file_atomically(target, filled_in(*text, wanted, language));
                !written)
                return std::move(written).error();
            // Scripts are programs; what is installed for reading only is still to be edited here.
            fs::permissions(
                target, fs::status(source, failed).permissions() | fs::perms::owner_write, failed);
            if (failed)
                return cannot(failed);
            files.push_back(name.string());
        }
        if (fs::rename(fresh, wanted.folder, failed); failed)
            return cannot(failed);
        return files;
    };
    Result<std::vector<std::string>> files = make();
    fs::remove_all(fresh, failed);
    return files;
}

std::string driver_folder_of(const NewProject& project, const Language& language) {
    return filled_in(language.driver_folder, project, language);
}

std::vector<ToolchainPart> missing_toolchain(const Language& language) {
    std::vector<ToolchainPart> missing;
    for (const ToolchainPart& part : language.toolchain) {
        const auto answer = support::run_program(part.command, kToolLimit);
        if (!answer || answer->exit_code != 0)
            missing.push_back(part);
    }
    return missing;
}

namespace {

Result<Language> read_language(const fs::path& folder) {
    const fs::path file = folder / "template.toml";
    Result<std::string> content = support::read_file(file);
    if (!content)
        return std::move(content).error();
    const support::SourceFile source{.name = file.string(), .content = *std::move(content)};
    support::DiagnosticList diagnostics(source);
    Language language{.id = folder.filename().string(), .folder = folder};
    if (const auto root = support::parse_toml(source, diagnostics)) {
        const support::Schema& schema = template_schema();
        support::check_top_level(*root, schema, diagnostics);
        for (const support::TomlMember& member : root->members) {
            const bool is_template = member.key == "template";
            if (is_template && member.value.type == support::TomlValue::Type::table) {
                const CheckedTable table =
                    support::check_table(member.value, schema.table("template"), "[template]",
                                         schema.all_keys, diagnostics);
                language.summary = table.text("summary");
                language.shape = table.text("shape");
                language.driver_folder = table.text("driver_folder");
                language.packages = table.words("packages");
                language.image = table.text("image");
            } else if (member.key == "toolchain") {
                for (const support::TomlValue& item : member.value.items) {
                    const CheckedTable part =
                        support::check_table(item, schema.table("toolchain"), "[[toolchain]]",
                                             schema.all_keys, diagnostics);
                    language.toolchain.push_back({.name = part.text("name"),
                                                  .command = part.words("command"),
                                                  .get = part.text("get")});
                }
            }
        }
    }
    if (diagnostics.has_error())
        return Error{ErrorCode::host, support::format_diagnostics(diagnostics.in_file_order()),
                     "the templates belong to mqcore: install it again"};
    for (const ClaimName& shape : kShapeNames) {
        std::error_code unreadable;
        if (fs::is_directory(folder / shape.name, unreadable))
            language.shapes.emplace_back(shape.name);
    }
    if (!std::ranges::count(language.shapes, language.shape))
        return Error{ErrorCode::host,
                     fmt::format("'{}' has no folder of the shape '{}', which its template.toml "
                                 "names",
                                 folder.string(), language.shape),
                     "the templates belong to mqcore: install it again"};
    return language;
}

// Which file becomes which, by its path in the project.
Result<std::map<fs::path, fs::path>> sources_of(const NewProject& wanted,
                                                const Language& language) {
    const fs::path folders[] = {language.folder.parent_path() / kEvery, language.folder / kEvery,
                                language.folder / wanted.shape};
    std::map<fs::path, fs::path> sources;
    for (const fs::path& folder : folders) {
        std::error_code unreadable;
        fs::recursive_directory_iterator entry(folder, unreadable);
        if (unreadable)
            return Error{ErrorCode::host,
                         fmt::format("cannot read '{}': {}", folder.string(), unreadable.message()),
                         "it belongs to mqcore: install it again"};
        for (; entry != fs::recursive_directory_iterator(); entry.increment(unreadable))
            if (entry->is_regular_file())
                sources[entry->path().lexically_relative(folder)] = entry->path();
    }
    return sources;
}

std::string joined(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

std::string needs_of(const Language& language) {
    std::string needs;
    for (const ToolchainPart& part : language.toolchain)
        needs += fmt::format("{}{} ({})", needs.empty() ? "" : "; ", part.name, part.get);
    return needs;
}

std::string filled_in(std::string text, const NewProject& wanted, const Language& language) {
    // In this order: the folder has the id in it.
    const std::pair<std::string_view, std::string> replacements[] = {
        {"@FOLDER@", language.driver_folder},
        {"@PACKAGES@", joined(language.packages)},
        {"@IMAGE@", language.image},
        {"@NEEDS@", needs_of(language)},
        {kTemplateId, wanted.id},
    };
    for (const auto& [placeholder, value] : replacements)
        text = support::replace_all(std::move(text), placeholder, value);
    return text;
}

support::Schema make_template_schema() {
    return {.title = "mqcore template",
            .help = "What the projects of a language need.",
            .all_keys = "docs/architecture.md, Drivers",
            .tables = {
                {.name = "template",
                 .presence = Presence::required,
                 .help = "A language's projects.",
                 .keys = {{.name = "summary", .presence = Presence::required, .help = "one line"},
                          {.name = "shape",
                           .presence = Presence::required,
                           .help = "the usual shape: a folder beside this file"},
                          {.name = "driver_folder",
                           .presence = Presence::required,
                           .example = "\"build/my-driver\"",
                           .help = "what check-driver and run are given"},
                          {.name = "packages",
                           .type = KeyType::texts,
                           .presence = Presence::required,
                           .help = "Debian packages that building and testing take"},
                          {.name = "image",
                           .presence = Presence::required,
                           .example = "\"debian:bookworm\"",
                           .help = "container image of the CI file"}}},
                {.name = "toolchain",
                 .form = support::TableForm::list,
                 .label_key = "name",
                 .help = "A program or library that building takes.",
                 .keys = {{.name = "name", .presence = Presence::required, .help = "for people"},
                          {.name = "command",
                           .type = KeyType::texts,
                           .presence = Presence::required,
                           .help = "succeeds where it is there"},
                          {.name = "get",
                           .presence = Presence::required,
                           .help = "how to get it, for people"}}}}};
}

const support::Schema& template_schema() {
    static const support::Schema schema = make_template_schema();
    return schema;
}

} // namespace
} // namespace mqcore::driver
