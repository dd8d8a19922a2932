#include "driver/descriptor_file.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>

using namespace mqcore;

namespace {

const std::string kDriver = "[driver]\n"
                            "id = \"paho-c\"\n"
                            "library = \"Eclipse Paho C\"\n"
                            "summary = \"asynchronous\"\n"
                            "abi = \"1.0\"\n"
                            "shape = \"nowait\"\n"
                            "file = \"paho-c.so\"\n";
const std::string kClaims = "[claims]\n"
                            "protocols = [\"3.1.1\", \"5\"]\n"
                            "publish_qos = [0, 1, 2]\n"
                            "subscribe_qos = [0, 1]\n"
                            "features = [\"tls\", \"topic-alias\"]\n"
                            "max_window = 20\n"
                            "qos0_completion = \"handed over\"\n";

driver::ReadDescriptor read(const std::string& content) {
    const tests::TemporaryFolder folder;
    folder.write("driver.toml", content);
    return driver::read_descriptor(folder.path());
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
}

// The one finding about a wrong file, as "line:column message".
std::string finding(const std::string& content) {
    const auto wrong = read(content);
    REQUIRE_FALSE(wrong.descriptor);
    REQUIRE(wrong.diagnostics.size() == 1);
    const support::Diagnostic& found = wrong.diagnostics[0];
    return std::to_string(found.line) + ":" + std::to_string(found.column) + " " + found.message;
}

} // namespace

TEST_CASE("a complete driver.toml becomes a descriptor") {
    const tests::TemporaryFolder folder;
    folder.write("driver.toml",
                 kDriver + "library_version = \"1.3.12\"\npackage = \"paho\"\nfloor = true\n" +
                     kClaims);
    const auto good = driver::read_descriptor(folder.path());
    CHECK(good.diagnostics.empty());
    REQUIRE(good.descriptor);
    CHECK(good.id == "paho-c");
    CHECK(good.descriptor->id == "paho-c");
    CHECK(good.descriptor->library == "Eclipse Paho C");
    CHECK(good.descriptor->summary == "asynchronous");
    CHECK(good.descriptor->abi == "1.0");
    CHECK(good.descriptor->library_version == "1.3.12");
    CHECK(good.descriptor->package == "paho");
    CHECK(good.descriptor->folder == folder.path());
    CHECK(good.descriptor->library_file == folder.path() / "paho-c.so");
    CHECK(good.descriptor->host.empty());
    CHECK(good.descriptor->is_harness_floor);
    CHECK(good.descriptor->claims ==
          driver::Claims{.shape = MQCORE_SHAPE_NOWAIT,
                         .protocols = MQCORE_V311 | MQCORE_V5,
                         .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
                         .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,
                         .features = MQCORE_FEATURE_TLS | MQCORE_FEATURE_TOPIC_ALIAS,
                         .max_window = 20,
                         .qos0_completion = MQCORE_QOS0_HANDED_OVER});
}

TEST_CASE("every feature, shape and completion of the ABI has a name that reads back") {
    for (const std::uint32_t shape :
         {MQCORE_SHAPE_SYNC, MQCORE_SHAPE_NOWAIT, MQCORE_SHAPE_AWAITED}) {
        const std::string name(driver::name_of_shape(shape));
        CHECK(read(replaced(kDriver, "nowait", name) + kClaims).descriptor->claims.shape == shape);
    }
    for (const std::uint32_t completion :
         {MQCORE_QOS0_HANDED_OVER, MQCORE_QOS0_WRITTEN, MQCORE_QOS0_DRAINED}) {
        const std::string name(driver::name_of_qos0_completion(completion));
        CHECK(read(kDriver + replaced(kClaims, "handed over", name))
                  .descriptor->claims.qos0_completion == completion);
    }
    const auto features = driver::names_of_features(~0u);
    CHECK(features == std::vector<std::string>{"tls", "filter-callbacks", "publish-properties",
                                               "topic-alias", "receive-maximum",
                                               "many-connections"});
    CHECK(driver::names_of_protocols(MQCORE_V311 | MQCORE_V5) ==
          std::vector<std::string>{"3.1.1", "5"});
    CHECK(driver::name_of_shape(99).empty());
}

TEST_CASE("a driver that cannot publish claims no QoS and needs no completion") {
    const auto good =
        read(kDriver + "[claims]\nprotocols = [\"5\"]\npublish_qos = []\nsubscribe_qos = [1]\n");
    REQUIRE(good.descriptor);
    CHECK(good.descriptor->claims.publish_qos == 0);
    CHECK(good.descriptor->claims.qos0_completion == 0);
}

TEST_CASE("what is wrong in a driver.toml is found at its place") {
    CHECK(finding(replaced(kDriver, "summary", "sumary") + kClaims) ==
          "4:1 unknown key 'sumary' in [driver]");
    CHECK(finding(replaced(kDriver, "nowait", "nowayt") + kClaims) ==
          "6:9 'shape' does not know \"nowayt\" in [driver]");
    CHECK(finding(replaced(kDriver, "paho-c\"", "Paho C\"") + kClaims) ==
          "2:6 'id' cannot be \"Paho C\" in [driver]");
    CHECK(finding(replaced(kDriver, "file = \"paho-c.so\"\n", "") + kClaims) ==
          "1:1 [driver] has neither 'file' nor 'host'");
    CHECK(finding(kDriver + "host = \"python\"\n" + kClaims) ==
          "8:1 'host' and 'file' of line 7 exclude each other in [driver]");
    CHECK(finding(kDriver + replaced(kClaims, "[0, 1, 2]", "[0, 3]")) ==
          "10:19 'publish_qos' is 3, but the range is 0 to 2, in [claims]");
    CHECK(finding(kDriver + replaced(kClaims, "\"tls\"", "\"tsl\"")) ==
          "12:13 'features' does not know \"tsl\" in [claims]");
    CHECK(finding(kDriver + replaced(kClaims, "qos0_completion = \"handed over\"\n", "")) ==
          "10:15 [claims] has QoS 0 in 'publish_qos' and no 'qos0_completion'");
    CHECK(finding(kDriver) == "0:0 this file has no [claims]");
    CHECK(finding("id = \n").starts_with("1:6 not valid TOML"));
}

TEST_CASE("a driver of another major version of the ABI is refused in one line") {
    CHECK(finding(replaced(kDriver, "\"1.0\"", "\"2.0\"") + kClaims) ==
          "5:7 this driver was made for ABI 2.0, this mqcore has ABI 1.0");
    for (const char* abi : {"", "1", "1.", ".1", "1.x", "one", "1.0.0", "-1.0"})
        CHECK(finding(replaced(kDriver, "1.0", abi) + kClaims) ==
              "5:7 'abi' is \"" + std::string(abi) + "\"");
}

TEST_CASE("a driver of a newer minor version keeps what is known, with a warning for the rest") {
    const auto newer = read(replaced(kDriver, "1.0", "1.7") + "colour = \"red\"\n" +
                            replaced(kClaims, "\"topic-alias\"", "\"topic-alias\", \"telepathy\""));
    REQUIRE(newer.descriptor);
    CHECK(newer.descriptor->claims.features == (MQCORE_FEATURE_TLS | MQCORE_FEATURE_TOPIC_ALIAS));
    CHECK(newer.diagnostics.size() == 2);
    CHECK_FALSE(support::has_error(newer.diagnostics));
}

TEST_CASE("a broken file still tells its driver's id, or else that of its folder") {
    CHECK(read("[driver]\nid = \"paho-c\"\n").id == "paho-c");
    const tests::TemporaryFolder folder;
    folder.write("gmqtt/driver.toml", "[driver\n");
    const auto broken = driver::read_descriptor(folder.path() / "gmqtt");
    CHECK(broken.id == "gmqtt");
    CHECK(broken.diagnostics.size() == 1);
}

TEST_CASE("every driver.toml and host.toml that is shipped reads without a finding") {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             mqcore::tests::source_folder() / "plugins")) {
        std::vector<support::Diagnostic> found;
        if (entry.path().filename() == "driver.toml")
            found = driver::read_descriptor(entry.path().parent_path()).diagnostics;
        else if (entry.path().filename() == "host.toml")
            found = driver::read_host(entry.path().parent_path()).diagnostics;
        INFO(support::format_diagnostics(found));
        CHECK(found.empty());
    }
}

TEST_CASE("the example of the architecture page is a driver") {
    const std::string page =
        tests::content_of(mqcore::tests::source_folder() / "docs/architecture.md");
    const std::size_t start = page.find("[driver]\n");
    REQUIRE(start != std::string::npos);
    const auto example = read(page.substr(start, page.find("```", start) - start));
    INFO(support::format_diagnostics(example.diagnostics));
    CHECK(example.descriptor);
    CHECK(example.diagnostics.empty());
}

TEST_CASE("a host names its library and the command of its environment tool") {
    const tests::TemporaryFolder folder;
    folder.write("environment.py", "");
    folder.write("host.toml", "[host]\nid = \"python\"\nfile = \"python-host.so\"\n"
                              "environment = [\"python3\", \"environment.py\", \"--quiet\"]\n");
    const auto read = driver::read_host(folder.path());
    REQUIRE(read.host);
    CHECK(read.host->id == "python");
    CHECK(read.host->library_file == folder.path() / "python-host.so");
    CHECK(read.host->environment ==
          std::vector<std::string>{"python3", (folder.path() / "environment.py").string(),
                                   "--quiet"});
}

TEST_CASE("what is wrong in a host.toml is found at its place") {
    const tests::TemporaryFolder folder;
    folder.write("host.toml", "[host]\nid = \"python\"\nfile = 5\n");
    const auto read = driver::read_host(folder.path());
    CHECK_FALSE(read.host);
    REQUIRE(read.diagnostics.size() == 1);
    CHECK(read.diagnostics[0].line == 3);
    CHECK(read.diagnostics[0].message ==
          "'file' takes text in quotes, not a whole number, in [host]");
}

TEST_CASE("variants are options under a name") {
    const auto good = read(kDriver + kClaims +
                           "[variant.thread]\nsummary = \"own thread\"\n"
                           "options = { loop = \"thread\", spins = 3, warm = true }\n");
    REQUIRE(good.descriptor);
    CHECK(good.descriptor->driver_id == "paho-c");
    REQUIRE(good.descriptor->variants.size() == 1);
    const driver::Variant& variant = good.descriptor->variants[0];
    CHECK(variant.name == "thread");
    CHECK(variant.summary == "own thread");
    CHECK(variant.options == driver::Options{{"loop", "thread"}, {"spins", "3"}, {"warm", "true"}});
    CHECK(good.descriptor->variant == driver::Variant{}); // the driver itself is none of them
}

TEST_CASE("a wrong variant is found where it stands") {
    const std::string before = kDriver + kClaims;
    CHECK(finding(before + "[variant.a]\nsummary = \"nothing\"\n") ==
          "15:10 [variant.a] has no options");
    CHECK(finding(before + "[variant.a]\noptions = {}\n") == "15:10 [variant.a] has no options");
    CHECK(finding(before + "[variant.a]\noptions = \"x\"\n") ==
          "16:1 'options' is text, which has no meaning in [variant.a]");
    CHECK(finding(before + "[variant.a]\noptions = { x = [1] }\n") ==
          "16:17 option 'x' of [variant.a] is a list");
    CHECK(finding(before + "[variant.a]\noptions = { x = 1 }\nloop = 1\n") ==
          "17:1 'loop' is a whole number, which has no meaning in [variant.a]");
    CHECK(finding(before + "[variant.\"A b\"]\noptions = { x = 1 }\n") ==
          "15:10 'A b' is no variant's table");
}

TEST_CASE("variants of a newer minor version are kept") {
    const auto newer = read(replaced(kDriver, "\"1.0\"", "\"1.9\"") + kClaims +
                            "[variant.a]\noptions = { x = 1 }\n");
    REQUIRE(newer.descriptor);
    CHECK(newer.descriptor->variants.size() == 1);
}
