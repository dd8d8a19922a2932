#pragma once
// The project of a new driver, which `mqcore new-driver` makes: sources, build, test, CI file. A language
// is a folder of templates, so that another one needs no line here:
//
//   TEMPLATES/all/                files of every project
//   TEMPLATES/LANG/template.toml  what the language's projects need
//   TEMPLATES/LANG/all/           files of its projects
//   TEMPLATES/LANG/SHAPE/         what the skeleton of a shape has besides: sync, nowait, awaited
//
// A template is a driver of the id "my-driver" as it stands; that id becomes the one that is wanted, and
// @FOLDER@, @PACKAGES@, @IMAGE@ and @NEEDS@ what template.toml says.

#include "support/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::driver {

// A program or library that building takes.
struct ToolchainPart {
    std::string name;
    std::vector<std::string> command; // succeeds where it is there
    std::string get;                  // how to get it, for people
};

struct Language {
    std::string id;                    // the folder's name
    std::string summary;               // one line
    std::vector<std::string> shapes;   // that have a skeleton, in the order of the names
    std::string shape;                 // the usual one
    std::string driver_folder;         // what check-driver and run are given, seen from the project
    std::vector<std::string> packages; // Debian packages that building and testing take
    std::string image;                 // container image that the CI file builds and tests in
    std::vector<ToolchainPart> toolchain;
    std::filesystem::path folder; // of the templates
};

// In the order of their ids. A folder of templates that cannot be used is an error that names its file.
support::Result<std::vector<Language>> languages_in(const std::filesystem::path& templates);

struct NewProject {
    std::string id;               // is_id()
    std::string shape;            // one of Language::shapes
    std::filesystem::path folder; // to make, absolute; must not be there
};

// The files that were made, in the order of their paths. All of it is made or nothing.
support::Result<std::vector<std::string>> make_project(const NewProject& wanted,
                                                       const Language& language);

// Language::driver_folder in that project.
std::string driver_folder_of(const NewProject& project, const Language& language);

// What of the language's toolchain is not here; starts its programs.
std::vector<ToolchainPart> missing_toolchain(const Language& language);

} // namespace mqcore::driver
