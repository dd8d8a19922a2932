#include "driver/discovery.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <cstdlib>

using namespace mqcore;

namespace {

// Plugin folders below a temporary one.
class Plugins {
  public:
    const std::filesystem::path& path() const { return folder_.path(); }

    void add_driver(const std::string& folder, const std::string& id,
                    const std::string& source) const {
        folder_.write(
            folder + "/driver.toml",
            "[driver]\nid = \"" + id + "\"\nlibrary = \"" + folder +
                "\"\nabi = \"1.0\"\nshape = \"sync\"\n" + source +
                "\n[claims]\nprotocols = [\"5\"]\npublish_qos = [1]\nsubscribe_qos = [1]\n");
    }
    void add_native(const std::string& folder, const std::string& id) const {
        add_driver(folder, id, "file = \"" + id + ".so\"");
        folder_.write(folder + "/" + id + ".so", "");
    }
    void add_host(const std::string& folder, const std::string& id) const {
        folder_.write(folder + "/host.toml", "[host]\nid = \"" + id + "\"\nfile = \"host.so\"\n");
        folder_.write(folder + "/host.so", "");
    }
    std::filesystem::path write(std::string_view name, std::string_view content) const {
        return folder_.write(name, content);
    }

  private:
    tests::TemporaryFolder folder_;
};

std::vector<std::string> ids_of(const driver::Catalogue& catalogue) {
    std::vector<std::string> ids;
    for (const driver::Descriptor& driver : catalogue.drivers)
        ids.push_back(driver.id);
    return ids;
}

} // namespace

TEST_CASE("drivers are found in a folder of plugin folders, by id") {
    const Plugins plugins;
    plugins.add_native("b", "second");
    plugins.add_native("a", "zeroth");
    plugins.write("notes/readme.txt", "no plugin");
    const auto catalogue = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    CHECK(ids_of(catalogue) == std::vector<std::string>{"second", "zeroth"});
    CHECK(catalogue.broken.empty());
    CHECK(catalogue.shadowed.empty());
    CHECK(catalogue.searched == std::vector{plugins.path()});
    CHECK(catalogue.driver("second")->library_file == plugins.path() / "b/second.so");
    CHECK(catalogue.driver("third") == nullptr);
}

TEST_CASE("a place may be a plugin folder itself") {
    const Plugins plugins;
    plugins.add_native("mine", "mine");
    plugins.add_native("other", "other");
    const auto catalogue =
        driver::discover({.plugin_path = (plugins.path() / "mine").string(), .roots = {}});
    CHECK(ids_of(catalogue) == std::vector<std::string>{"mine"});
}

TEST_CASE("the first match wins and the hidden one is reported") {
    const Plugins first, second;
    first.add_native("here", "same");
    second.add_native("there", "same");
    const auto catalogue =
        driver::discover({.plugin_path = first.path().string(), .roots = {second.path()}});
    REQUIRE(catalogue.drivers.size() == 1);
    CHECK(catalogue.drivers[0].folder == first.path() / "here");
    REQUIRE(catalogue.shadowed.size() == 1);
    CHECK(catalogue.shadowed[0].id == "same");
    CHECK(catalogue.shadowed[0].used == first.path() / "here");
    CHECK(catalogue.shadowed[0].hidden == second.path() / "there");
}

TEST_CASE("a place that is named twice hides nothing from itself") {
    const Plugins plugins;
    plugins.add_native("a", "a");
    const auto catalogue = driver::discover(
        {.plugin_path = plugins.path().string() + ":" + plugins.path().string() + "/",
         .roots = {plugins.path()}});
    CHECK(catalogue.drivers.size() == 1);
    CHECK(catalogue.shadowed.empty());
}

TEST_CASE("a driver that exists but fails never falls through to another") {
    const Plugins first, second;
    first.write("same/driver.toml", "[driver]\nid = \"same\"\nshape = \"spiral\"\n");
    second.add_native("same", "same");
    const auto catalogue =
        driver::discover({.plugin_path = first.path().string(), .roots = {second.path()}});
    CHECK(catalogue.drivers.empty());
    REQUIRE(catalogue.broken.size() == 1);
    CHECK_FALSE(catalogue.broken[0].diagnostics.empty());
    const auto named = driver::driver_named("same", catalogue);
    REQUIRE_FALSE(named);
    CHECK(named.error().code == support::ErrorCode::driver);
    CHECK(named.error().message.starts_with((first.path() / "same/driver.toml").string() + ":"));
}

TEST_CASE("a driver whose library is not built is broken, with the file that is missing") {
    const Plugins plugins;
    plugins.add_driver("a", "a", "file = \"a.so\"");
    const auto catalogue = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    REQUIRE(catalogue.broken.size() == 1);
    CHECK(catalogue.broken[0].error.message ==
          "the library '" + (plugins.path() / "a/a.so").string() + "' of driver 'a' is not there");
}

TEST_CASE("a hosted driver gets the library of its host, wherever the host stands") {
    const Plugins drivers, hosts;
    drivers.add_driver("paho", "paho", "host = \"python\"");
    hosts.add_host("python-host", "python");
    const auto catalogue =
        driver::discover({.plugin_path = drivers.path().string(), .roots = {hosts.path()}});
    REQUIRE(catalogue.drivers.size() == 1);
    CHECK(catalogue.drivers[0].library_file == hosts.path() / "python-host/host.so");
    CHECK(catalogue.drivers[0].host_folder == hosts.path() / "python-host");
    CHECK(catalogue.host("python")->folder == hosts.path() / "python-host");
}

TEST_CASE("a driver without its host is broken, with the reason") {
    const Plugins plugins;
    plugins.add_driver("paho", "paho", "host = \"python\"");
    const auto missing = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    REQUIRE(missing.broken.size() == 1);
    CHECK(missing.broken[0].error.message ==
          "driver 'paho' needs the host 'python', which is not there");

    plugins.write("host/host.toml", "[host]\nid = \"python\"\nfile = \"gone.so\"\n");
    const auto broken = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    REQUIRE(broken.broken.size() == 2);
    CHECK(broken.broken[1].error.message ==
          "driver 'paho' needs the host 'python', which cannot be used");
    CHECK(broken.broken[1].error.hint.find("gone.so") != std::string::npos);
}

TEST_CASE("a driver and a host may have the same id") {
    const Plugins plugins;
    plugins.add_host("a", "python");
    plugins.add_native("b", "python");
    const auto catalogue = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    CHECK(catalogue.drivers.size() == 1);
    CHECK(catalogue.hosts.size() == 1);
    CHECK(catalogue.shadowed.empty());
}

TEST_CASE("a named place that is no folder is reported, a default one passed over") {
    const auto catalogue =
        driver::discover({.plugin_path = "/nonexistent/plugins::", .roots = {"/nonexistent/root"}});
    CHECK(catalogue.unusable_places ==
          std::vector<std::string>{
              "MQCORE_PLUGIN_PATH names '/nonexistent/plugins', which is no folder"});
    CHECK(catalogue.searched.empty());
}

TEST_CASE("a driver is named by its folder, its driver.toml or its library") {
    const Plugins plugins;
    plugins.add_native("mine", "mine");
    const driver::Catalogue nothing;
    const auto folder = plugins.path() / "mine";
    for (const auto& path : {folder, folder / "driver.toml", folder / "mine.so"}) {
        const auto named = driver::driver_named(path.string(), nothing);
        REQUIRE(named);
        CHECK(named->id == "mine");
    }
}

TEST_CASE("a path that is no driver says what is missing") {
    const Plugins plugins;
    plugins.add_native("mine", "mine");
    plugins.write("mine/other.so", "");
    plugins.write("lonely/lonely.so", "");
    const driver::Catalogue nothing;
    const auto message = [&](const std::string& path) {
        const auto named = driver::driver_named((plugins.path() / path).string(), nothing);
        REQUIRE_FALSE(named);
        return named.error().message;
    };
    CHECK(message("missing.so") ==
          "there is no '" + (plugins.path() / "missing.so").string() + "'");
    CHECK(message("lonely/lonely.so") ==
          "there is no driver.toml in '" + (plugins.path() / "lonely").string() + "'");
    CHECK(message("mine/other.so") == "'" + (plugins.path() / "mine/other.so").string() +
                                          "' is not the library of driver 'mine' beside it");
}

TEST_CASE("an unknown id gets the nearest one and the places searched") {
    const Plugins plugins;
    plugins.add_native("a", "paho-c");
    const auto catalogue = driver::discover({.plugin_path = "", .roots = {plugins.path()}});
    const auto named = driver::driver_named("pahoc", catalogue);
    REQUIRE_FALSE(named);
    CHECK(named.error().code == support::ErrorCode::wrong_input);
    CHECK(named.error().message == "there is no driver 'pahoc'");
    CHECK(named.error().hint ==
          "did you mean 'paho-c'?  (searched: '" + plugins.path().string() + "')");
    CHECK(driver::driver_named("x", driver::Catalogue{}).error().hint ==
          "no plugin folder was found; set MQCORE_PLUGIN_PATH");
}

TEST_CASE("the default places are those of the build and of the installation") {
    const tests::TemporaryFolder prefix;
    std::filesystem::create_directories(prefix.path() / "lib/x86_64-linux-gnu/mqcore/plugins");
    ::setenv("MQCORE_PLUGIN_PATH", "/a:/b", 1);
    const auto places = driver::default_places(prefix.path() / "bin");
    ::unsetenv("MQCORE_PLUGIN_PATH");
    CHECK(places.plugin_path == "/a:/b");
    CHECK(places.roots == std::vector<std::filesystem::path>{
                              prefix.path() / "plugins", prefix.path() / "lib/mqcore/plugins",
                              prefix.path() / "lib64/mqcore/plugins",
                              prefix.path() / "lib/x86_64-linux-gnu/mqcore/plugins"});
    CHECK(driver::default_places(prefix.path() / "bin").plugin_path.empty());
}
