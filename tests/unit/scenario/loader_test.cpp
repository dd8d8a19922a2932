// What scenario files mean. What is printed about wrong ones: tests/golden/scenario.

#include "scenario/keys.hpp"
#include "scenario/loader.hpp"
#include "support/catch.hpp"
#include "support/file.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>
#include <random>
#include <sys/stat.h>

using namespace mqcore;
using measure::Protocol;
using scenario::Kind;
using scenario::Point;

namespace {

const std::filesystem::path kSource = mqcore::tests::source_folder();
const std::string kSuite = "[suite]\nname = \"t\"\n";

scenario::LoadedScenario parse(const std::string& content) {
    return scenario::parse_scenario(content, "t.toml");
}

Point one_point(const std::string& content) {
    const auto loaded = parse(kSuite + content);
    INFO(support::format_diagnostics(loaded.diagnostics));
    REQUIRE(loaded.scenario);
    REQUIRE(loaded.scenario->points.size() == 1);
    return loaded.scenario->points[0];
}

std::string first_message(const scenario::LoadedScenario& loaded) {
    return loaded.diagnostics.empty() ? "" : loaded.diagnostics[0].message;
}

} // namespace

TEST_CASE("the core scenario has the eight core points of the methodology") {
    const auto loaded = scenario::load_scenario(kSource / "scenarios/core.toml");
    INFO(support::format_diagnostics(loaded.diagnostics));
    REQUIRE(loaded.scenario);
    CHECK(loaded.diagnostics.empty());
    CHECK(loaded.scenario->suite == "core");
    struct Expected {
        std::string id;
        Kind kind;
        std::uint32_t qos, payload_bytes;
        std::optional<double> rate;
        bool is_capacity;
    };
    const Expected expected[] = {
        {"pub_qos0_max", Kind::pub, 0, 256, {}, true},
        {"pub_qos1_max", Kind::pub, 1, 256, {}, true},
        {"pub_qos1_fixed", Kind::pub, 1, 256, 2000, false},
        {"sub_qos0_max", Kind::sub, 0, 256, {}, true},
        {"sub_qos1_fixed", Kind::sub, 1, 256, 2000, false},
        {"rtt_qos1_fixed", Kind::rtt, 1, 256, 1000, false},
        {"pub_16k_fixed", Kind::pub, 1, 16384, 1000, false},
        {"idle_connect", Kind::idle, 0, 256, {}, false},
    };
    CHECK(loaded.scenario->points.size() == std::size(expected));
    for (const Expected& wanted : expected) {
        CAPTURE(wanted.id);
        const auto point = std::ranges::find(loaded.scenario->points, wanted.id, &Point::id);
        REQUIRE(point != loaded.scenario->points.end());
        CHECK(point->kind == wanted.kind);
        CHECK(point->qos == wanted.qos);
        CHECK(point->payload_bytes == wanted.payload_bytes);
        CHECK(point->rate == wanted.rate);
        CHECK(point->is_capacity == wanted.is_capacity);
        CHECK(point->window == 64);
        CHECK(point->protocol == Protocol::v311);
        CHECK_FALSE(point->has_tls);
        CHECK(point->pacing == measure::Pacing::tick);
        CHECK(point->question.ends_with("?"));
        CHECK(point->suite == "core");
    }
}

TEST_CASE("the extended scenario has the 26 points of the methodology") {
    const auto loaded = scenario::load_scenario(kSource / "scenarios/extended.toml");
    INFO(support::format_diagnostics(loaded.diagnostics));
    REQUIRE(loaded.scenario);
    std::vector<std::string> ids;
    for (const Point& point : loaded.scenario->points)
        ids.push_back(point.id);
    std::ranges::sort(ids);
    std::vector<std::string> expected = {"sub_qos1_max",
                                         "pub_qos1_max_v5",
                                         "sub_qos1_max_v5",
                                         "pub_qos1_max_16k",
                                         "pub_qos1_fixed_500",
                                         "pub_qos1_fixed_5k",
                                         "sub_qos1_fixed_500",
                                         "sub_qos1_fixed_5k",
                                         "rtt_qos0_fixed",
                                         "pub_qos2_max",
                                         "pub_qos2_fixed",
                                         "sub_qos2_fixed",
                                         "pub_fanout_fixed",
                                         "sub_fanin_fixed",
                                         "sub_filters_fixed",
                                         "duplex_qos1_fixed",
                                         "pub_qos1_fixed_tls",
                                         "sub_qos1_fixed_tls",
                                         "idle_connect_tls",
                                         "pub_qos1_fixed_v5_props",
                                         "sub_qos1_fixed_v5_props",
                                         "pub_qos1_fixed_v5_alias",
                                         "sub_qos1_max_v5_rm16",
                                         "pub_64k_fixed",
                                         "pub_1m_fixed",
                                         "pub_rl_boundaries"};
    std::ranges::sort(expected);
    CHECK(ids == expected);
    const auto point = [&](std::string_view id) {
        return *std::ranges::find(loaded.scenario->points, id, &Point::id);
    };
    CHECK(point("pub_qos1_fixed_5k").rate == 5000);
    CHECK(point("sub_filters_fixed").topics == 1000);
    CHECK(point("sub_filters_fixed").filters == 100);
    CHECK(point("sub_qos1_max_v5_rm16").receive_maximum == 16);
    CHECK(point("pub_rl_boundaries").packets ==
          std::vector<std::uint32_t>{127, 128, 16383, 16384, 2097151, 2097152});
    CHECK(point("pub_qos1_fixed_v5_alias").has_topic_alias);
    CHECK(point("pub_qos1_fixed_v5_props").properties ==
          measure::PublishProperties{.content_type = "application/json",
                                     .response_topic = "plant/answers",
                                     .correlation_data = "request-17",
                                     .user = {{"unit", "kelvin"}}});
    CHECK(point("duplex_qos1_fixed").kind == Kind::duplex);
}

TEST_CASE("a list makes a point for each of its values, several every combination") {
    const auto loaded = parse(kSuite + "[[point]]\nid = \"a\"\nkind = \"pub\"\n"
                                       "rate = [500, \"2000/s\", 0.5]\nwindow = [1, 64]\n");
    REQUIRE(loaded.scenario);
    std::vector<std::string> ids;
    for (const Point& point : loaded.scenario->points)
        ids.push_back(point.id);
    CHECK(ids == std::vector<std::string>{"a_500_1", "a_500_64", "a_2k_1", "a_2k_64", "a_0_5_1",
                                          "a_0_5_64"});
    CHECK(loaded.scenario->points[2].rate == 2000);
    CHECK(loaded.scenario->points[3].window == 64);
    const auto sizes = parse(kSuite + "[[point]]\nid = \"a\"\nkind = \"pub\"\nrate = 1\n"
                                      "payload = [\"16KiB\", \"1MiB\", 100]\n");
    REQUIRE(sizes.scenario);
    CHECK(sizes.scenario->points[0].id == "a_16k");
    CHECK(sizes.scenario->points[1].id == "a_1m");
    CHECK(sizes.scenario->points[2].id == "a_100");
}

TEST_CASE("a suite can ask for direct mode") {
    const std::string point = "[[point]]\nid = \"a\"\nkind = \"idle\"\n";
    const auto direct = parse("[suite]\nname = \"t\"\nbroker = \"direct\"\n" + point);
    REQUIRE(direct.scenario);
    CHECK(direct.scenario->points[0].is_direct);
    CHECK_FALSE(parse(kSuite + point).scenario->points[0].is_direct);
    CHECK_FALSE(parse("[suite]\nname = \"t\"\nbroker = \"none\"\n" + point).scenario);
}

TEST_CASE("every scenario that is shipped loads without a finding") {
    for (const auto& entry : std::filesystem::directory_iterator(kSource / "scenarios")) {
        if (entry.path().extension() != ".toml")
            continue;
        const auto loaded = scenario::load_scenario(entry.path());
        INFO(support::format_diagnostics(loaded.diagnostics));
        CHECK(loaded.scenario);
        CHECK(loaded.diagnostics.empty());
    }
}

TEST_CASE("the example of the reference page is a scenario") {
    const std::string page = tests::content_of(kSource / "docs/scenario-reference.md");
    const std::size_t start = page.find("```toml\n") + 8;
    const auto loaded = parse(page.substr(start, page.find("```", start) - start));
    CHECK(loaded.scenario);
    CHECK(loaded.diagnostics.empty());
}

TEST_CASE("a point that says little gets the defaults of the key table") {
    const Point point = one_point("[[point]]\nid = \"a\"\nkind = \"pub\"\nload = \"capacity\"\n");
    CHECK(point.qos == 0);
    CHECK(point.payload_bytes == 256);
    CHECK(point.window == 64);
    CHECK(point.protocol == Protocol::v311);
    CHECK(point.pacing == measure::Pacing::tick);
    CHECK(point.keepalive_s == 60);
    CHECK(point.topic == "data");
    CHECK_FALSE(point.has_tls);
    CHECK(point.is_capacity);
    CHECK(point.line == 3);
    CHECK(point.file == "t.toml");
}

TEST_CASE("a point says everything itself") {
    const Point point =
        one_point("[[point]]\nid = \"a_1\"\nkind = \"rtt\"\nqos = 2\npayload = \"16KiB\"\n"
                  "rate = \"0.5/s\"\nwindow = 65535\nprotocol = \"5\"\ntls = true\n"
                  "pacing = \"each\"\nkeepalive = \"2min\"\ntopic = \"x/\\U0001F600\"\n"
                  "question = \"why?\"\n");
    CHECK(point.id == "a_1");
    CHECK(point.kind == Kind::rtt);
    CHECK(point.qos == 2);
    CHECK(point.payload_bytes == 16384);
    CHECK(point.rate == 0.5);
    CHECK_FALSE(point.is_capacity);
    CHECK(point.window == 65535);
    CHECK(point.protocol == Protocol::v5);
    CHECK(point.has_tls);
    CHECK(point.pacing == measure::Pacing::each);
    CHECK(point.keepalive_s == 120);
    CHECK(point.topic == "x/\xF0\x9F\x98\x80");
    CHECK(point.question == "why?");
}

TEST_CASE("plain numbers are bytes, messages per second and seconds") {
    const Point point = one_point(
        "[[point]]\nid = \"a\"\nkind = \"pub\"\npayload = 20\nrate = 2.5\nkeepalive = 7\n");
    CHECK(point.payload_bytes == 20);
    CHECK(point.rate == 2.5);
    CHECK(point.keepalive_s == 7);
}

TEST_CASE("defaults are handed down where they have a meaning, and a point wins over them") {
    const auto loaded =
        parse(kSuite + "[defaults]\nqos = 1\nrate = \"10/s\"\nwindow = 5\npayload = \"1KiB\"\n"
                       "[[point]]\nid = \"inherits\"\nkind = \"pub\"\n"
                       "[[point]]\nid = \"wins\"\nkind = \"pub\"\nqos = 2\nload = \"capacity\"\n"
                       "[[point]]\nid = \"idles\"\nkind = \"idle\"\n");
    INFO(support::format_diagnostics(loaded.diagnostics));
    REQUIRE(loaded.scenario);
    CHECK(loaded.diagnostics.empty());
    const auto& points = loaded.scenario->points;
    CHECK(points[0].qos == 1);
    CHECK(points[0].rate == 10);
    CHECK(points[0].window == 5);
    CHECK(points[1].qos == 2);
    CHECK(points[1].is_capacity);
    CHECK_FALSE(points[1].rate);
    CHECK(points[2].qos == 0);
    CHECK(points[2].payload_bytes == 256);
    CHECK_FALSE(points[2].rate);
}

TEST_CASE("the largest payload leaves room for topic and header, to the byte") {
    // 268,435,455 less the topic with its length (2 + 64 + 4) and the identifier (2): MQTT 3.3.
    const std::string head = "[[point]]\nid = \"a\"\nkind = \"pub\"\nrate = 1\nqos = 1\npayload = ";
    CHECK(one_point(head + "268435383\n").payload_bytes == 268'435'383);
    CHECK_FALSE(parse(kSuite + head + "268435384\n").scenario);
    CHECK(one_point(head + "268435382\nprotocol = \"5\"\n").payload_bytes == 268'435'382);
    CHECK_FALSE(parse(kSuite + head + "268435383\nprotocol = \"5\"\n").scenario);
}

TEST_CASE("options of drivers become text") {
    const auto loaded =
        parse(kSuite + "[[point]]\nid = \"a\"\nkind = \"idle\"\n[driver.paho-c]\ntext = \"x y\"\n"
                       "number = 0x10\nfraction = 0.25\nflag = true\n[driver.gmqtt]\n");
    REQUIRE(loaded.scenario);
    const auto& options = loaded.scenario->driver_options;
    CHECK(options.at("paho-c") ==
          std::map<std::string, std::string>{
              {"text", "x y"}, {"number", "16"}, {"fraction", "0.25"}, {"flag", "true"}});
    CHECK(options.at("gmqtt").empty());
}

TEST_CASE("options for a driver that is not here are a warning with the nearest id") {
    const auto loaded =
        parse(kSuite + "[[point]]\nid = \"a\"\nkind = \"idle\"\n[driver.phao-c]\nx = 1\n");
    REQUIRE(loaded.scenario);
    const std::vector<scenario::Scenario> scenarios = {*loaded.scenario};
    const std::vector<std::string> ids = {"paho-c", "gmqtt"};
    const auto warnings = scenario::unknown_drivers(scenarios, ids);
    CHECK(support::format_diagnostics(warnings) ==
          "t.toml:6:9: warning: options for driver 'phao-c', which is not here\n"
          "  6 | [driver.phao-c]\n"
          "    |         ^~~~~~\n"
          "    = did you mean 'paho-c'?\n");
    const std::vector<std::string> more_ids = {"phao-c"};
    CHECK(scenario::unknown_drivers(scenarios, more_ids).empty());
}

TEST_CASE("the hash of a scenario is that of the file's bytes") {
    const std::string content =
        "\xEF\xBB\xBF" + kSuite + "[[point]]\r\nid = \"a\"\r\nkind = \"idle\"\r\n";
    const auto loaded = parse(content);
    REQUIRE(loaded.scenario);
    CHECK(loaded.scenario->sha256 == support::sha256(content));
}

TEST_CASE("a file that is no scenario is named with the reason") {
    const tests::TemporaryFolder folder;
    CHECK(first_message(scenario::load_scenario(folder.path() / "missing.toml")) ==
          "there is no such file");
    CHECK(first_message(scenario::load_scenario(folder.path())) ==
          "this is a folder, not a scenario file");
    CHECK(first_message(scenario::load_scenario("/dev/zero")) ==
          "this is a device, not a scenario file");
    CHECK(first_message(
              scenario::load_scenario(folder.write("large.toml", std::string(5'000'000, '#')))) ==
          "this file is larger than 4 MiB, no scenario is");
    const auto missing = scenario::load_scenario("no/such.toml");
    CHECK(support::format_diagnostics(missing.diagnostics) ==
          "no/such.toml: error: there is no such file\n");
}

TEST_CASE("a file without permission is named with the reason") {
    const tests::TemporaryFolder folder;
    const auto file = folder.write("secret.toml", kSuite);
    ::chmod(file.c_str(), 0);
    const auto loaded = scenario::load_scenario(file);
    CHECK_FALSE(loaded.scenario);
    if (::geteuid() != 0) // root may read everything
        CHECK(loaded.diagnostics[0].message.ends_with("Permission denied"));
}

TEST_CASE("files that run together share no point and no driver's options") {
    const tests::TemporaryFolder folder;
    const std::string point = "[[point]]\nid = \"same\"\nkind = \"idle\"\n[driver.paho-c]\n";
    const std::vector<std::filesystem::path> files = {
        folder.write("a.toml", kSuite + point), folder.write("b.toml", kSuite + "\n" + point)};
    const auto loaded = scenario::load_scenarios(files);
    CHECK(support::has_error(loaded.diagnostics));
    REQUIRE(loaded.diagnostics.size() == 2);
    CHECK(loaded.diagnostics[0].message ==
          "point 'same' is already in " + files[0].string() + ":3");
    CHECK(loaded.diagnostics[0].file == files[1].string());
    CHECK(loaded.diagnostics[0].line == 5);
    CHECK(loaded.diagnostics[1].message ==
          "options for driver 'paho-c' are already in " + files[0].string());
}

TEST_CASE("files that run together come in the order given, each with its own suite") {
    const tests::TemporaryFolder folder;
    const std::vector<std::filesystem::path> files = {
        folder.write("b.toml", "[suite]\nname = \"b\"\n[[point]]\nid = \"b\"\nkind = \"idle\"\n"),
        folder.write("a.toml", "[suite]\nname = \"a\"\n[[point]]\nid = \"a\"\nkind = \"idle\"\n")};
    const auto loaded = scenario::load_scenarios(files);
    CHECK(loaded.diagnostics.empty());
    REQUIRE(loaded.scenarios.size() == 2);
    CHECK(loaded.scenarios[0].points[0].suite == "b");
    CHECK(loaded.scenarios[1].points[0].suite == "a");
}

TEST_CASE("the same file twice is found by its points") {
    const std::vector<std::filesystem::path> files(2, kSource / "scenarios/core.toml");
    CHECK(scenario::load_scenarios(files).diagnostics.size() == 8);
}

TEST_CASE("whatever a file holds, the answer is findings inside of it") {
    // Mutations of a real file: bytes changed, doubled, cut and moved. The seed is fixed, so that a
    // failure can be repeated.
    const std::string original = tests::content_of(kSource / "tests/golden/scenario/valid.toml");
    std::mt19937 random(20);
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    constexpr std::string_view kPieces[] = {
        "[",           "]",       "\"",          "'",     "\"\"\"",
        "=",           "\n",      "{",           "}",     ".",
        "#",           "\\",      ",",           "\xFF",  "\xED\xA0\x80",
        "[[point]]\n", "kind = ", "-",           "1e999", "9999999999999999999",
        "\r",          "\t",      "\xEF\xBB\xBF"};
    for (int round = 0; round < 3000; ++round) {
        std::string content = original;
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
            const std::size_t at = below(content.size());
            switch (below(4)) {
            case 0:
                content[at] = static_cast<char>(below(256));
                break;
            case 1:
                content.insert(at, kPieces[below(std::size(kPieces))]);
                break;
            case 2:
                content.erase(at, 1 + below(20));
                break;
            default:
                content.insert(at, content.substr(below(content.size()), 1 + below(40)));
            }
        }
        const auto loaded = parse(content);
        const auto lines = static_cast<std::uint32_t>(std::ranges::count(content, '\n') + 1);
        bool is_inside = loaded.scenario.has_value() != support::has_error(loaded.diagnostics);
        for (const support::Diagnostic& found : loaded.diagnostics)
            is_inside = is_inside && found.line <= lines && !found.message.empty() &&
                        !support::format_diagnostic(found).empty();
        if (!is_inside) {
            CAPTURE(round, content);
            CHECK(is_inside);
        }
    }
}
