#pragma once
// Finds drivers and hosts: in the folders of MQCORE_PLUGIN_PATH, then in the given roots, or by an
// explicit path. The first match of an id wins, also when it is broken: naming something that
// exists but fails never falls through to another. Reads only driver.toml and host.toml.

#include "driver/descriptor.hpp"
#include "support/diagnostic.hpp"
#include "support/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::driver {

struct SearchPlaces {
    std::string plugin_path;                  // as MQCORE_PLUGIN_PATH: a colon list, first in order
    std::vector<std::filesystem::path> roots; // then these; one that does not exist is passed over
};

// MQCORE_PLUGIN_PATH and the plugin folders that belong to a program in `program_folder`: the
// build's ("../plugins") and the installation's ("../lib/mqcore/plugins",
// "../lib/ARCH/mqcore/plugins").
SearchPlaces default_places(const std::filesystem::path& program_folder);

// A second plugin of an id, further down the search path.
struct Shadowed {
    std::string id;
    std::filesystem::path used;
    std::filesystem::path hidden;
};

// A plugin folder that cannot be used. Its id is taken all the same.
struct Broken {
    std::string id; // as far as it could be read, else the folder's name
    std::filesystem::path folder;
    support::Error error;                         // one line, ready to show
    std::vector<support::Diagnostic> diagnostics; // of its TOML file, where that is the cause
};

struct Catalogue {
    std::vector<Descriptor> drivers; // by id
    std::vector<Host> hosts;         // by id
    std::vector<Shadowed> shadowed;
    std::vector<Broken> broken;
    std::vector<support::Diagnostic> warnings; // of plugins that can be used all the same
    std::vector<std::string> unusable_places;  // one line each: a named place that is no folder
    std::vector<std::filesystem::path> searched;

    const Descriptor* driver(std::string_view id) const; // null: not here, or broken
    const Host* host(std::string_view id) const;         // null: not here, or broken
};

// Each place is a plugin folder (it holds driver.toml or host.toml) or a folder of plugin folders.
Catalogue discover(const SearchPlaces& places);

// One driver by id, or by path when the name holds a '/' or ends in .so or .toml: its folder, its
// driver.toml or its library. An unknown id is an Error with the nearest one and the places
// searched.
support::Result<Descriptor> driver_named(std::string_view name, const Catalogue& catalogue);

} // namespace mqcore::driver
