#include "driver/project.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

#include "support/file.hpp"

using namespace mqcore;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTemplate = R"([template]
summary = "a language of the tests"
shape = "sync"
driver_folder = "build/my-driver"
packages = ["one", "two"]
image = "debian:bookworm"

[[toolchain]]
name = "true"
command = ["true"]
get = "nowhere"

[[toolchain]]
name = "a program that is not there"
command = ["no-such-program-of-any-machine"]
get = "Debian: nothing"
)";

struct Templates {
    Templates() {
        folder.write("templates/all/README.md", "# my-driver\n@FOLDER@: @PACKAGES@ in @IMAGE@\n");
        folder.write("templates/all/test.sh", "#!/bin/sh\n");
        fs::permissions(folder.path() / "templates/all/test.sh", fs::perms::owner_exec,
                        fs::perm_options::add);
        folder.write("templates/lang/template.toml", kTemplate);
        folder.write("templates/lang/all/README.md", "my-driver needs @NEEDS@\n");
        folder.write("templates/lang/sync/src/driver.x", "shape sync of my-driver\n");
        folder.write("templates/lang/nowait/src/driver.x", "shape nowait of my-driver\n");
    }
    fs::path templates() const { return folder.path() / "templates"; }
    driver::Language language() const {
        const auto languages = driver::languages_in(templates());
        REQUIRE(languages);
        REQUIRE(languages->size() == 1);
        return languages->front();
    }
    driver::NewProject project(const char* shape = "sync") const {
        return {.id = "mine", .shape = shape, .folder = folder.path() / "work" / "mine"};
    }
    std::string made(const char* file) const {
        const auto text = support::read_file(folder.path() / "work" / "mine" / file);
        REQUIRE(text);
        return *text;
    }

    tests::TemporaryFolder folder;
};

} // namespace

TEST_CASE("a language is a folder of templates, its shapes are folders in it") {
    const Templates given;
    const driver::Language language = given.language();
    CHECK(language.id == "lang");
    CHECK(language.shapes == std::vector<std::string>{"sync", "nowait"});
    CHECK(language.shape == "sync");
    CHECK(driver::driver_folder_of(given.project(), language) == "build/mine");
}

TEST_CASE("what the toolchain lacks is found out by its commands") {
    const auto missing = driver::missing_toolchain(Templates().language());
    REQUIRE(missing.size() == 1);
    CHECK(missing[0].name == "a program that is not there");
}

TEST_CASE("a project has the files of all, of the language and of the shape, with its own name") {
    const Templates given;
    const auto files = driver::make_project(given.project("nowait"), given.language());
    REQUIRE(files);
    CHECK(*files == std::vector<std::string>{"README.md", "src/driver.x", "test.sh"});
    CHECK(given.made("README.md") ==
          "mine needs true (nowhere); a program that is not there (Debian: nothing)\n");
    CHECK(given.made("src/driver.x") == "shape nowait of mine\n");
    const auto mode = fs::status(given.project().folder / "test.sh").permissions();
    CHECK((mode & fs::perms::owner_exec) != fs::perms::none);
}

TEST_CASE("placeholders become what template.toml says") {
    const Templates given;
    fs::remove(given.templates() / "lang/all/README.md");
    REQUIRE(driver::make_project(given.project(), given.language()));
    CHECK(given.made("README.md") == "# mine\nbuild/mine: one two in debian:bookworm\n");
}

TEST_CASE("nothing is written over, and nothing is half made") {
    const Templates given;
    given.folder.write("work/mine/kept", "kept");
    const auto over = driver::make_project(given.project(), given.language());
    REQUIRE_FALSE(over);
    CHECK(over.error().code == support::ErrorCode::wrong_input);
    CHECK(given.made("kept") == "kept");

    driver::NewProject elsewhere = given.project();
    elsewhere.folder = given.folder.write("a-file", "") / "mine";
    CHECK_FALSE(driver::make_project(elsewhere, given.language()));
    elsewhere.folder = given.folder.path() / "half" / "mine";
    const driver::Language language = given.language();
    fs::remove_all(given.templates() / "lang/sync");
    CHECK_FALSE(driver::make_project(elsewhere, language));
    CHECK_FALSE(fs::exists(elsewhere.folder));
}

TEST_CASE("templates that cannot be used are an error that names their file") {
    const Templates given;
    const auto wrong = [&](const char* text) {
        given.folder.write("templates/lang/template.toml", text);
        const auto languages = driver::languages_in(given.templates());
        REQUIRE_FALSE(languages);
        CHECK(languages.error().code == support::ErrorCode::host);
        return languages.error().message;
    };
    CHECK(wrong("[template]\nsumary = \"x\"\n").find("template.toml:2:1") != std::string::npos);
    CHECK(wrong("[template\n").find("template.toml:1") != std::string::npos);
    CHECK(driver::languages_in(given.folder.path() / "none")
              .error()
              .message.find("there are no templates") == 0);
}

TEST_CASE("the templates that come with mqcore can be used") {
    const auto languages = driver::languages_in(tests::source_folder() / "plugin-api/templates");
    REQUIRE(languages);
    for (const driver::Language& language : *languages) {
        INFO(language.id);
        CHECK_FALSE(language.summary.empty());
        CHECK_FALSE(language.toolchain.empty());
        CHECK(driver::driver_folder_of({.id = "mine", .shape = "sync", .folder = "mine"}, language)
                  .find('@') == std::string::npos);
    }
}
