#include "driver/environment.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace mqcore;

namespace {

// A host whose environment tool is a shell script.
class ToolHost {
  public:
    explicit ToolHost(const std::string& script) {
        host_ = {.id = "test",
                 .folder = folder_.path(),
                 .library_file = {},
                 .environment = {"sh", folder_.write("tool.sh", script).string()}};
    }
    const driver::Host& operator*() const { return host_; }
    const driver::Host* operator&() const { return &host_; }

  private:
    tests::TemporaryFolder folder_;
    driver::Host host_;
};

const driver::Descriptor kDriver = [] {
    driver::Descriptor driver;
    driver.id = "paho";
    driver.folder = "/plugins/with space/paho";
    return driver;
}();

} // namespace

TEST_CASE("a driver that needs no environment has one that is ready") {
    driver::Host host;
    host.id = "plain";
    for (const driver::Host* none :
         {static_cast<const driver::Host*>(nullptr), static_cast<const driver::Host*>(&host)}) {
        CHECK_FALSE(driver::needs_environment(none));
        const auto status = driver::environment_status(kDriver, none);
        REQUIRE(status);
        CHECK(status->is_ready);
        CHECK(status->path.empty());
    }
}

TEST_CASE("the tool's answer becomes the state of the environment") {
    const ToolHost host(
        "echo "
        "'{\"ready\":true,\"path\":\"/env\",\"reason\":\"\",\"facts\":{\"python\":\"3.11\"}}'");
    CHECK(driver::needs_environment(&host));
    const auto status = driver::environment_status(kDriver, &host);
    REQUIRE(status);
    CHECK(status->is_ready);
    CHECK(status->path == "/env");
    CHECK(support::print_json(status->facts) == R"({"python":"3.11"})");
}

TEST_CASE("an environment that is not ready says why") {
    const ToolHost host("echo '{\"ready\":false,\"reason\":\"not made yet\"}'");
    CHECK(driver::environment_status(kDriver, &host)->reason == "not made yet");
    const ToolHost silent("echo '{}'");
    const auto status = driver::environment_status(kDriver, &silent);
    CHECK_FALSE(status->is_ready);
    CHECK(status->reason == "the environment tool of host 'test' gave no reason");
}

TEST_CASE("the tool gets its verb and its options, word for word") {
    const ToolHost host("printf '{\"path\":\"'; printf '%s|' \"$@\"; printf '\"}'");
    const driver::EnvironmentOptions options{.interpreter = "python3.13", .wheels = "/w"};
    CHECK(driver::environment_status(kDriver, &host, options)->path ==
          "status|--driver-folder|/plugins/with space/paho|--interpreter|python3.13|");
    CHECK(driver::sync_environment(kDriver, &host, options)->path ==
          "sync|--driver-folder|/plugins/with space/paho|--interpreter|python3.13|--wheels|/w|");
    CHECK(driver::sync_environment(kDriver, &host)->path ==
          "sync|--driver-folder|/plugins/with space/paho|");
    CHECK(support::text_or(*driver::list_environments(*host), "path", "") == "list|");
    CHECK(support::text_or(*driver::remove_environment(kDriver, *host), "path", "") ==
          "remove|--driver-folder|/plugins/with space/paho|");
}

TEST_CASE("the tool is told which release of the package is meant") {
    const ToolHost host("printf '{\"ready\":true,\"path\":\"'; printf '%s|' \"$@\"; printf '\"}'");
    driver::Descriptor chosen = kDriver;
    chosen.choice.version = "2.1.0";
    const std::string folder = "|--driver-folder|/plugins/with space/paho|";
    CHECK(driver::environment_status(chosen, &host)->path ==
          "status" + folder + "--version|2.1.0|");
    CHECK(support::text_or(*driver::remove_environment(chosen, *host), "path", "") ==
          "remove" + folder + "--version|2.1.0|");
    chosen.choice = {.version = {}, .checkout = "/copy"};
    CHECK(driver::sync_environment(chosen, &host)->path == "sync" + folder + "--checkout|/copy|");
    CHECK(support::text_or(
              *driver::lock_packages(kDriver, *host, {.interpreter = "3.12", .wheels = "/w"}),
              "path", "") == "lock" + folder + "--interpreter|3.12|--wheels|/w|");
}

TEST_CASE("a tool that refuses is an error with its reason") {
    const ToolHost host("echo '{\"ready\":false,\"reason\":\"no such release\"}'; exit 1");
    CHECK(driver::lock_packages(kDriver, *host).error().message == "no such release");
    CHECK(driver::sync_environment(kDriver, &host).error().message ==
          "the environment of 'paho' cannot be made: no such release");
}

TEST_CASE("a tool that fails is an error with its last words") {
    const ToolHost host("echo first >&2; echo 'no such interpreter' >&2; exit 4");
    const auto status = driver::environment_status(kDriver, &host);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == support::ErrorCode::host);
    CHECK(support::one_line(status.error()) ==
          "the environment tool of host 'test' failed at 'status' with exit code 4 "
          "(no such interpreter)");
}

TEST_CASE("a tool that answers something else than a JSON object is an error") {
    for (const char* script : {"echo hello", "echo '[1]'", "true"}) {
        const ToolHost host(script);
        const auto status = driver::environment_status(kDriver, &host);
        REQUIRE_FALSE(status);
        CHECK(status.error().code == support::ErrorCode::driver);
        CHECK(status.error().message.find("the environment tool of host 'test'") == 0);
    }
}

TEST_CASE("a tool that is not there is an error that names it") {
    driver::Host host;
    host.id = "test";
    host.environment = {"mqcore-no-such-tool"};
    const auto status = driver::environment_status(kDriver, &host);
    REQUIRE_FALSE(status);
    CHECK(status.error().message == "the environment tool of host 'test': cannot run "
                                    "'mqcore-no-such-tool': No such file or directory");
    host.environment.clear();
    CHECK(driver::list_environments(host).error().message == "host 'test' has no environment tool");
}
