#include "driver/discovery.hpp"

#include "driver/descriptor_file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

namespace mqcore::driver {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;
using support::Result;

bool is_file(const fs::path& path) {
    std::error_code unreadable;
    return fs::is_regular_file(path, unreadable);
}

bool is_folder(const fs::path& path) {
    std::error_code unreadable;
    return fs::is_directory(path, unreadable);
}

std::vector<fs::path> plugin_folders_of(const fs::path& place);
std::vector<fs::path> places_of(const SearchPlaces& places, Catalogue& catalogue);
void add_hosts(const std::vector<fs::path>& folders, Catalogue& catalogue);
void add_drivers(const std::vector<fs::path>& folders, Catalogue& catalogue);
Result<Descriptor> complete(Descriptor descriptor, const Catalogue& catalogue);
Result<Descriptor> driver_at(const fs::path& path, const Catalogue& catalogue);
Error unknown_driver(std::string_view id, const Catalogue& catalogue);
Error error_of(const std::vector<support::Diagnostic>& diagnostics);

} // namespace

SearchPlaces default_places(const fs::path& program_folder) {
    SearchPlaces places;
    if (const char* path = std::getenv("MQCORE_PLUGIN_PATH"))
        places.plugin_path = path;
    const fs::path prefix = program_folder.parent_path();
    places.roots = {prefix / "plugins", prefix / "lib/mqcore/plugins",
                    prefix / "lib64/mqcore/plugins"};
    std::error_code unreadable;
    std::vector<fs::path> of_architectures;
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / "lib", unreadable))
        if (is_folder(entry.path() / "mqcore/plugins"))
            of_architectures.push_back(entry.path() / "mqcore/plugins");
    std::ranges::sort(of_architectures);
    std::ranges::copy(of_architectures, std::back_inserter(places.roots));
    return places;
}

const Descriptor* Catalogue::driver(std::string_view id) const {
    const auto found = std::ranges::find(drivers, id, &Descriptor::id);
    return found == drivers.end() ? nullptr : &*found;
}

const Host* Catalogue::host(std::string_view id) const {
    const auto found = std::ranges::find(hosts, id, &Host::id);
    return found == hosts.end() ? nullptr : &*found;
}

Catalogue discover(const SearchPlaces& places) {
    Catalogue catalogue;
    std::vector<fs::path> folders;
    for (const fs::path& place : places_of(places, catalogue)) {
        catalogue.searched.push_back(place);
        std::ranges::copy(plugin_folders_of(place), std::back_inserter(folders));
    }
    // Hosts first: a driver may stand before its host in the search path.
    add_hosts(folders, catalogue);
    add_drivers(folders, catalogue);
    std::ranges::sort(catalogue.drivers, {}, &Descriptor::id);
    std::ranges::sort(catalogue.hosts, {}, &Host::id);
    return catalogue;
}

Result<Descriptor> driver_named(std::string_view name, const Catalogue& catalogue) {
    const bool is_path = name.find('/') != std::string_view::npos || name.ends_with(".so") ||
                         name.ends_with(".toml") || name == "." || name == "..";
    if (is_path)
        return driver_at(fs::path(name), catalogue);
    if (const Descriptor* found = catalogue.driver(name))
        return *found;
    const auto broken = std::ranges::find_if(catalogue.broken, [&](const Broken& candidate) {
        return candidate.id == name && is_file(candidate.folder / "driver.toml");
    });
    if (broken != catalogue.broken.end())
        return broken->error;
    return unknown_driver(name, catalogue);
}

namespace {

// A place is a plugin folder itself or holds some, in the order of their names.
std::vector<fs::path> plugin_folders_of(const fs::path& place) {
    const auto is_plugin = [](const fs::path& folder) {
        return is_file(folder / "driver.toml") || is_file(folder / "host.toml");
    };
    if (is_plugin(place))
        return {place};
    std::vector<fs::path> folders;
    std::error_code unreadable;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, unreadable))
        if (is_plugin(entry.path()))
            folders.push_back(entry.path());
    std::ranges::sort(folders);
    return folders;
}

std::vector<fs::path> places_of(const SearchPlaces& places, Catalogue& catalogue) {
    std::vector<fs::path> existing;
    std::string_view list = places.plugin_path;
    while (!list.empty()) {
        const std::size_t colon = std::min(list.find(':'), list.size());
        const std::string_view entry = list.substr(0, colon);
        list.remove_prefix(std::min(colon + 1, list.size()));
        if (entry.empty())
            continue;
        if (is_folder(fs::path(entry)))
            existing.emplace_back(entry);
        else
            catalogue.unusable_places.push_back(
                fmt::format("MQCORE_PLUGIN_PATH names '{}', which is no folder", entry));
    }
    std::ranges::copy_if(places.roots, std::back_inserter(existing), is_folder);
    return existing;
}

// Which folder an id is taken by: the first one, broken or not.
class TakenIds {
  public:
    // False when the id was taken before; then the catalogue says so.
    bool take(const std::string& id, const fs::path& folder, Catalogue& catalogue) {
        const auto [at, is_new] = folder_of_id_.emplace(id, folder);
        std::error_code unreadable;
        if (!is_new && !fs::equivalent(at->second, folder, unreadable))
            catalogue.shadowed.push_back({.id = id, .used = at->second, .hidden = folder});
        return is_new;
    }

  private:
    std::map<std::string, fs::path> folder_of_id_;
};

void add_hosts(const std::vector<fs::path>& folders, Catalogue& catalogue) {
    TakenIds taken;
    for (const fs::path& folder : folders) {
        if (!is_file(folder / "host.toml"))
            continue;
        ReadHost read = read_host(folder);
        if (!taken.take(read.id, folder, catalogue))
            continue;
        if (!read.host)
            catalogue.broken.push_back({.id = read.id,
                                        .folder = folder,
                                        .error = error_of(read.diagnostics),
                                        .diagnostics = read.diagnostics});
        else if (!is_file(read.host->library_file))
            catalogue.broken.push_back(
                {.id = read.id,
                 .folder = folder,
                 .error = {ErrorCode::driver,
                           fmt::format("the library '{}' of host '{}' is not there",
                                       read.host->library_file.string(), read.id),
                           "build it, or correct 'file' in its host.toml"},
                 .diagnostics = {}});
        else
            catalogue.hosts.push_back(*std::move(read.host));
    }
}

void add_drivers(const std::vector<fs::path>& folders, Catalogue& catalogue) {
    TakenIds taken;
    for (const fs::path& folder : folders) {
        if (!is_file(folder / "driver.toml"))
            continue;
        ReadDescriptor read = read_descriptor(folder);
        if (!taken.take(read.id, folder, catalogue))
            continue;
        Result<Descriptor> driver = read.descriptor
                                        ? complete(*std::move(read.descriptor), catalogue)
                                        : Result<Descriptor>(error_of(read.diagnostics));
        if (!driver) {
            catalogue.broken.push_back({.id = read.id,
                                        .folder = folder,
                                        .error = driver.error(),
                                        .diagnostics = read.diagnostics});
            continue;
        }
        std::ranges::copy(read.diagnostics, std::back_inserter(catalogue.warnings));
        catalogue.drivers.push_back(*std::move(driver));
    }
}

// Finds the library of a driver: its own, or that of its host.
Result<Descriptor> complete(Descriptor descriptor, const Catalogue& catalogue) {
    if (descriptor.host.empty()) {
        if (!is_file(descriptor.library_file))
            return Error{ErrorCode::driver,
                         fmt::format("the library '{}' of driver '{}' is not there",
                                     descriptor.library_file.string(), descriptor.id),
                         "build it, or correct 'file' in its driver.toml"};
        return descriptor;
    }
    if (const Host* host = catalogue.host(descriptor.host)) {
        descriptor.library_file = host->library_file;
        descriptor.host_folder = host->folder;
        return descriptor;
    }
    const auto broken = std::ranges::find_if(catalogue.broken, [&](const Broken& candidate) {
        return candidate.id == descriptor.host && is_file(candidate.folder / "host.toml");
    });
    return Error{
        ErrorCode::driver,
        fmt::format("driver '{}' needs the host '{}', which {}", descriptor.id, descriptor.host,
                    broken != catalogue.broken.end() ? "cannot be used" : "is not there"),
        broken != catalogue.broken.end() ? support::one_line(broken->error)
                                         : "build it, or add its folder to MQCORE_PLUGIN_PATH"};
}

Result<Descriptor> driver_at(const fs::path& path, const Catalogue& catalogue) {
    std::error_code unreadable;
    if (!fs::exists(path, unreadable))
        return Error{ErrorCode::driver, fmt::format("there is no '{}'", path.string()),
                     "name a driver's folder, its driver.toml or its library"};
    const bool is_inside = !is_folder(path);
    fs::path folder = is_inside ? path.parent_path() : path;
    if (folder.empty())
        folder = ".";
    if (!is_file(folder / "driver.toml"))
        return Error{
            ErrorCode::driver, fmt::format("there is no driver.toml in '{}'", folder.string()),
            "a driver is a folder with a driver.toml and, where it has its own, its library"};
    ReadDescriptor read = read_descriptor(folder);
    if (!read.descriptor)
        return error_of(read.diagnostics);
    Result<Descriptor> driver = complete(*std::move(read.descriptor), catalogue);
    const bool is_library = is_inside && path.filename() != "driver.toml";
    if (driver && is_library && !fs::equivalent(path, driver->library_file, unreadable))
        return Error{ErrorCode::driver,
                     fmt::format("'{}' is not the library of driver '{}' beside it", path.string(),
                                 driver->id),
                     fmt::format("its driver.toml names '{}'", driver->library_file.string())};
    return driver;
}

Error unknown_driver(std::string_view id, const Catalogue& catalogue) {
    std::vector<std::string> known;
    for (const Descriptor& driver : catalogue.drivers)
        known.push_back(driver.id);
    std::string searched;
    for (const fs::path& place : catalogue.searched)
        searched += fmt::format("{}'{}'", searched.empty() ? "" : ", ", place.string());
    const std::string places = searched.empty()
                                   ? "no plugin folder was found; set MQCORE_PLUGIN_PATH"
                                   : fmt::format("searched: {}", searched);
    std::string hint = places;
    if (const auto near = support::nearest(id, known))
        hint = fmt::format("did you mean '{}'?  ({})", *near, places);
    else if (is_folder(fs::path(id)))
        hint = fmt::format("for the folder of that name write './{}'; {}", id, places);
    return {ErrorCode::wrong_input, fmt::format("there is no driver '{}'", id), hint};
}

// The first error of a TOML file in one line, as an Error.
Error error_of(const std::vector<support::Diagnostic>& diagnostics) {
    const auto first =
        std::ranges::find(diagnostics, support::Severity::error, &support::Diagnostic::severity);
    const std::string place = first->line > 0
                                  ? fmt::format("{}:{}:{}", first->file, first->line, first->column)
                                  : first->file;
    return {ErrorCode::driver, fmt::format("{}: {}", place, first->message), first->hint};
}

} // namespace
} // namespace mqcore::driver
