#include "campaign/plan.hpp"
#include "driver/descriptor_file.hpp"
#include "scenario/loader.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

#include <filesystem>
#include <map>
#include <set>

using namespace mqcore;
using namespace mqcore::campaign;

namespace {

scenario::Point point(std::string id, std::uint32_t qos = 1) {
    return {
        .id = std::move(id), .kind = scenario::Kind::pub, .qos = qos, .rate = 100.0, .topic = "t"};
}

driver::Descriptor client(std::string id, std::uint32_t publish_qos = 7) {
    return {.id = std::move(id),
            .claims = {.shape = MQCORE_SHAPE_SYNC,
                       .protocols = MQCORE_V311 | MQCORE_V5,
                       .publish_qos = publish_qos,
                       .subscribe_qos = 7}};
}

std::vector<std::string> order(const Plan& plan) {
    std::vector<std::string> names;
    for (const PlannedRun& run : plan.runs)
        names.push_back(plan.clients[run.client].id);
    return names;
}

} // namespace

TEST_CASE("a block holds every client once, and the first one rotates") {
    const Plan plan = make_plan({point("p")}, {client("a"), client("b"), client("c")}, 3);
    const std::vector<std::string> names = order(plan);
    REQUIRE(names.size() == 9);
    for (std::size_t block = 0; block < 3; ++block) {
        REQUIRE(std::set(names.begin() + block * 3, names.begin() + block * 3 + 3).size() == 3);
        REQUIRE(plan.runs[block * 3].client == plan.able[0][block]);
    }
}

TEST_CASE("each client has every place and follows every other one equally often") {
    for (const std::size_t count : {2u, 3u, 4u, 5u, 8u, 9u}) {
        CAPTURE(count);
        std::vector<driver::Descriptor> clients;
        for (std::size_t i = 0; i < count; ++i)
            clients.push_back(client(std::string(1, static_cast<char>('a' + i))));
        const std::uint32_t blocks = static_cast<std::uint32_t>(count % 2 ? 2 * count : count);
        const Plan plan = make_plan({point("p")}, std::move(clients), blocks);
        std::map<std::pair<std::size_t, std::size_t>, std::size_t> at_place, after;
        for (std::size_t i = 0; i < plan.runs.size(); ++i) {
            ++at_place[{plan.runs[i].client, i % count}];
            if (i % count > 0)
                ++after[{plan.runs[i].client, plan.runs[i - 1].client}];
            if (i + 1 == count * count) // an odd number has its places in the first half already
                for (const auto& [pair, times] : at_place)
                    REQUIRE(times == 1);
        }
        REQUIRE(at_place.size() == count * count);
        for (const auto& [pair, times] : at_place)
            REQUIRE(times == blocks / count);
        REQUIRE(after.size() == count * (count - 1));
        for (const auto& [pair, times] : after)
            REQUIRE(times == blocks / count);
    }
}

TEST_CASE("the seed and the point give the first block's order, the same on every machine") {
    const auto drawn = [](const char* id, std::uint64_t seed) {
        return order(
            make_plan({point(id)}, {client("a"), client("b"), client("c"), client("d")}, 1, seed));
    };
    REQUIRE(drawn("p", 0) == std::vector<std::string>{"a", "d", "b", "c"});
    REQUIRE(drawn("p", 0) != drawn("p", 1));
    REQUIRE(drawn("p", 0) != drawn("q", 0));
    std::map<std::string, int> first; // in 400 draws of four clients, 100 times on average
    for (std::uint64_t seed = 0; seed < 400; ++seed)
        ++first[drawn("p", seed).front()];
    for (const char* name : {"a", "b", "c", "d"})
        REQUIRE((first[name] > 60 && first[name] < 140));
}

TEST_CASE("a pair whose driver lacks something is refused with what it lacks, and does not run") {
    const Plan plan = make_plan({point("p"), point("q", 2)},
                                {client("a"), client("b", MQCORE_QOS0 | MQCORE_QOS1)}, 1);
    REQUIRE(plan.refusals.size() == 1);
    REQUIRE(plan.refusals[0].client == "b");
    REQUIRE(plan.refusals[0].point == "q");
    REQUIRE(plan.refusals[0].missing.size() == 1);
    REQUIRE(plan.refusals[0].missing[0].find("QoS 2") != std::string::npos);
    std::vector<std::string> names = order(plan);
    REQUIRE(names.back() == "a"); // alone on the second point
    REQUIRE(std::set(names.begin(), names.end() - 1) == std::set<std::string>{"a", "b"});
}

TEST_CASE("a point that every client lacks leaves no run and no time") {
    const Plan plan = make_plan({point("q", 2)}, {client("b", MQCORE_QOS0)}, 3);
    REQUIRE(plan.runs.empty());
    REQUIRE(estimate_ns(plan, *scenario::profile_named("smoke")) == 0);
}

TEST_CASE("the estimate grows with every run by its schedule and overhead") {
    const auto profile = *scenario::profile_named("standard");
    const auto one = estimate_ns(make_plan({point("p")}, {client("a")}, 1), profile);
    const auto two = estimate_ns(make_plan({point("p")}, {client("a")}, 2), profile);
    REQUIRE(two - one >= profile.warmup_ns + profile.window_ns + profile.drain_ns);
}

TEST_CASE("points are selected by shell patterns, and one that matches nothing is named") {
    const std::vector<scenario::Scenario> scenarios = {
        {.suite = "s",
         .points = {point("pub_qos0_max"), point("pub_qos1_max"), point("sub_qos0_max")}}};
    const auto some = select_points(scenarios, {"pub_*"});
    REQUIRE(some);
    REQUIRE(some->size() == 2);
    REQUIRE(select_points(scenarios, {})->size() == 3);
    const auto none = select_points(scenarios, {"pub_qos0_mas"});
    REQUIRE_FALSE(none);
    REQUIRE(none.error().hint == "did you mean 'pub_qos0_max'?");
}

TEST_CASE("a control is the same client under a name of its own") {
    const driver::Descriptor control = control_of(client("a", MQCORE_QOS1));
    REQUIRE(control.id == "a#control");
    REQUIRE(control.claims.publish_qos == MQCORE_QOS1);
    const Plan plan = make_plan({point("p")}, {client("a"), client("b"), control}, 3);
    for (std::size_t block = 0; block < 3; ++block) {
        std::vector<std::string> clients = order(plan);
        clients = {clients.begin() + static_cast<std::ptrdiff_t>(3 * block),
                   clients.begin() + static_cast<std::ptrdiff_t>(3 * block + 3)};
        std::ranges::sort(clients);
        REQUIRE(clients == std::vector<std::string>{"a", "a#control", "b"});
    }
}

TEST_CASE(
    "the standard suite over eight Python clients, three runs each, takes less than three hours") {
    const std::filesystem::path source = mqcore::tests::source_folder();
    const std::filesystem::path files[] = {source / "scenarios/core.toml",
                                           source / "scenarios/v5.toml",
                                           source / "scenarios/extended.toml"};
    const scenario::LoadedScenarios loaded = scenario::load_scenarios(files);
    REQUIRE_FALSE(support::has_error(loaded.diagnostics));
    std::vector<driver::Descriptor> clients;
    for (const auto& entry : std::filesystem::directory_iterator(source / "plugins/python"))
        if (const auto read = driver::read_descriptor(entry.path());
            read.descriptor && !read.descriptor->is_harness_floor)
            clients.push_back(*read.descriptor);
    REQUIRE(clients.size() == 8);
    const Plan plan = make_plan(*select_points(loaded.scenarios, {}), clients, 3);
    REQUIRE(plan.runs.size() > 100);
    CAPTURE(plan.runs.size());
    REQUIRE(estimate_ns(plan, *scenario::profile_named("standard")) < 3 * 3600 * support::kSecond);
}
