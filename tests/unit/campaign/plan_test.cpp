#include "campaign/plan.hpp"
#include "support/catch.hpp"

#include <map>

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

TEST_CASE("every client runs a point once before any runs it again, and the first one rotates") {
    const Plan plan = make_plan({point("p")}, {client("a"), client("b"), client("c")}, 3);
    REQUIRE(order(plan) == std::vector<std::string>{"a", "b", "c", "b", "c", "a", "c", "a", "b"});
}

TEST_CASE("a pair whose driver lacks something is refused with what it lacks, and does not run") {
    const Plan plan = make_plan({point("p"), point("q", 2)},
                                {client("a"), client("b", MQCORE_QOS0 | MQCORE_QOS1)}, 1);
    REQUIRE(plan.refusals.size() == 1);
    REQUIRE(plan.refusals[0].client == "b");
    REQUIRE(plan.refusals[0].point == "q");
    REQUIRE(plan.refusals[0].missing.size() == 1);
    REQUIRE(plan.refusals[0].missing[0].find("QoS 2") != std::string::npos);
    REQUIRE(order(plan) == std::vector<std::string>{"a", "b", "a"});
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
    REQUIRE(order(plan) == std::vector<std::string>{"a", "b", "a#control", "b", "a#control", "a",
                                                    "a#control", "a", "b"});
}
