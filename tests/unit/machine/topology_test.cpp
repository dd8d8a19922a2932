#include "machine/topology.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <sched.h>
#include <set>

using namespace mqcore::machine;

namespace {

Topology with_cores(std::vector<PhysicalCore> cores) {
    Topology topology{.cores = std::move(cores)};
    topology.cores_in_machine = static_cast<unsigned>(topology.cores.size());
    for (const PhysicalCore& core : topology.cores)
        topology.cpus_in_machine += static_cast<unsigned>(core.cpus.size());
    return topology;
}

// An i7-3770: four cores with two threads each.
Topology four_with_smt() { return with_cores({{{0, 4}}, {{1, 5}}, {{2, 6}}, {{3, 7}}}); }

} // namespace

TEST_CASE("with four cores each party has a whole one, SMT siblings included") {
    const CorePlan plan = plan_cores(four_with_smt());
    CHECK_FALSE(plan.shares_cores);
    CHECK(plan.not_comparable_because.empty());
    std::set<int> seen;
    for (const Party party : kParties) {
        CHECK(plan.of(party).size() == 2);
        for (const int cpu : plan.of(party))
            CHECK(seen.insert(cpu).second);
    }
}

TEST_CASE("the orchestrator, not the client, gets the core where interrupts land") {
    CHECK(plan_cores(four_with_smt()).of(Party::orchestrator) == std::vector{0, 4});
}

TEST_CASE("on unlike cores client and broker get the fast ones") {
    const CorePlan plan =
        plan_cores(with_cores({{{0}, 1}, {{1}, 1}, {{2}, 1}, {{3}, 1}, {{4, 5}, 2}, {{6, 7}, 2}}));
    CHECK(plan.of(Party::client) == std::vector{4, 5});
    CHECK(plan.of(Party::broker) == std::vector{6, 7});
    CHECK_FALSE(plan.shares_cores);
}

TEST_CASE("with three cores only peer and orchestrator share") {
    const CorePlan plan = plan_cores(with_cores({{{0}}, {{1}}, {{2}}}));
    CHECK(plan.shares_cores);
    CHECK(plan.of(Party::peer) == plan.of(Party::orchestrator));
    CHECK(plan.of(Party::client) != plan.of(Party::broker));
    CHECK(plan.of(Party::client) != plan.of(Party::peer));
    CHECK(plan.of(Party::broker) != plan.of(Party::peer));
}

TEST_CASE("with two cores the client is alone on one") {
    const CorePlan plan = plan_cores(with_cores({{{0}}, {{1}}}));
    CHECK(plan.of(Party::client) == std::vector{1});
    for (const Party party : {Party::broker, Party::peer, Party::orchestrator})
        CHECK(plan.of(party) == std::vector{0});
    REQUIRE(plan.not_comparable_because.size() == 1);
    CHECK(plan.not_comparable_because[0] ==
          "2 of the 4 physical cores that the four parties need: the client has a core of its own, "
          "since its cost is what is measured; broker, peer and orchestrator share the other");
}

TEST_CASE("with one core all share it and that is said") {
    const CorePlan plan = plan_cores(with_cores({{{3, 7}}}));
    for (const Party party : kParties)
        CHECK(plan.of(party) == std::vector{3, 7});
    CHECK(plan.sharing == "all parties share one core");
    CHECK(plan.not_comparable_because.size() == 1);
}

TEST_CASE("the plan is data") {
    CHECK(mqcore::support::print_json(to_json(plan_cores(with_cores({{{0}}, {{1}}})))) ==
          R"({"cpus":{"broker":[0],"client":[1],"peer":[0],"orchestrator":[0]},)"
          R"("shares_cores":true,"sharing":"the client has a core of its own, since its cost is )"
          R"(what is measured; broker, peer and orchestrator share the other"})");
}

TEST_CASE("this machine's usable CPUs are those of this process's affinity") {
    const auto topology = read_topology();
    REQUIRE(topology);
    cpu_set_t allowed{};
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int count = 0;
    for (const PhysicalCore& core : topology->cores)
        for (const int cpu : core.cpus) {
            CHECK(CPU_ISSET(cpu, &allowed));
            ++count;
        }
    CHECK(count == CPU_COUNT(&allowed));
    CHECK(topology->cores_in_machine >= topology->cores.size());
}

TEST_CASE("a narrowed affinity narrows the cores, not the machine") {
    cpu_set_t before{};
    REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
    if (CPU_COUNT(&before) < 2)
        return;
    const auto whole = read_topology();
    REQUIRE(whole);
    const int last = whole->cores.back().cpus.back();
    cpu_set_t one{};
    CPU_SET(last, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    const auto narrowed = read_topology();
    ::sched_setaffinity(0, sizeof before, &before);
    REQUIRE(narrowed);
    REQUIRE(narrowed->cores.size() == 1);
    CHECK(narrowed->cores[0].cpus == std::vector{last});
    CHECK(narrowed->cores_in_machine == whole->cores_in_machine);
}

TEST_CASE("CPU lists are written as the kernel writes them") {
    CHECK(print_cpus({0, 1, 2, 8}) == "0-2,8");
    CHECK(print_cpus({5}) == "5");
    CHECK(print_cpus({}).empty());
}
