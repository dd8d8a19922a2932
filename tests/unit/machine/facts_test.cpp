#include "machine/facts.hpp"

#include "fake_root.hpp"
#include "support/catch.hpp"

using namespace mqcore::machine;
using mqcore::test::FakeRoot;

namespace {

const Topology kTwoCores{.cores = {{{0}}, {{1}}}, .cores_in_machine = 2, .cpus_in_machine = 4};
const std::string kCpu = "sys/devices/system/cpu/";

CorePlan enough_cores() {
    return plan_cores(
        {.cores = {{{0}}, {{1}}, {{2}}, {{3}}}, .cores_in_machine = 4, .cpus_in_machine = 4});
}

MachineFacts with_governors(std::map<int, std::string> governors) {
    MachineFacts facts;
    facts.governors = std::move(governors);
    return facts;
}

} // namespace

TEST_CASE("a desktop's facts are read") {
    FakeRoot root;
    root.with("proc/cpuinfo",
              "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nflags\t\t: fpu vme\n")
        .with("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n")
        .with("etc/os-release", "NAME=\"x\"\nPRETTY_NAME=\"Some Linux 12\"\n")
        .with(kCpu + "cpu0/cpufreq/scaling_governor", "performance\n")
        .with(kCpu + "cpu1/cpufreq/scaling_governor", "powersave\n")
        .with(kCpu + "intel_pstate/no_turbo", "1\n");
    const MachineFacts facts = read_facts(kTwoCores, root.path());
    CHECK(facts.cpu_model == "Some CPU @ 3 GHz");
    CHECK(facts.memory_kib == 16384u);
    CHECK(facts.distribution == "Some Linux 12");
    CHECK(facts.hypervisor == "none");
    CHECK(facts.container == "none");
    CHECK(facts.has_turbo == false);
    CHECK(facts.has_smt == true);
    CHECK(facts.governors == std::map<int, std::string>{{0, "performance"}, {1, "powersave"}});
    CHECK_FALSE(facts.cpu_quota_cores);
}

TEST_CASE("a bare container has reasons instead of values") {
    FakeRoot root;
    root.with(".dockerenv", "");
    const MachineFacts facts = read_facts(kTwoCores, root.path());
    CHECK_FALSE(facts.cpu_model);
    CHECK_FALSE(facts.has_turbo);
    CHECK(facts.governors.empty());
    CHECK(facts.container == "docker");
    for (const char* name : {"cpu_model", "governor", "turbo", "memory_kib", "distribution",
                             "clock_source", "hypervisor"}) {
        INFO(name);
        CHECK(facts.unavailable.contains(name));
    }
    CHECK(to_json(facts).at("cpu_model").is_null());
}

TEST_CASE("a CPU limit of the control group is found in both versions") {
    FakeRoot two, one, none;
    two.with("sys/fs/cgroup/cpu.max", "250000 100000\n");
    one.with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n")
        .with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    none.with("sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK(read_facts(kTwoCores, two.path()).cpu_quota_cores == 2.5);
    CHECK(read_facts(kTwoCores, one.path()).cpu_quota_cores == 1.5);
    CHECK_FALSE(read_facts(kTwoCores, none.path()).cpu_quota_cores);
}

TEST_CASE("no fact names the host, a user or a folder") {
    const auto topology = read_topology();
    REQUIRE(topology);
    const std::string text = mqcore::support::print_json(to_json(read_facts(*topology)));
    char host[256] = "";
    REQUIRE(::gethostname(host, sizeof host) == 0);
    if (std::string(host).size() > 3) // "vm" may be part of a word
        CHECK(text.find(host) == std::string::npos);
    CHECK(text.find("/home/") == std::string::npos);
}

TEST_CASE("a run is comparable with four cores, a performance governor and a full profile") {
    const MachineFacts facts = with_governors({{0, "performance"}, {1, "performance"}});
    CHECK(not_comparable_because({.name = "standard"}, enough_cores(), facts).empty());
}

TEST_CASE("each reason against comparing is told") {
    const MachineFacts saving = with_governors({{0, "performance"}, {1, "powersave"}});
    CHECK(
        not_comparable_because({.name = "smoke", .is_comparable = false}, enough_cores(), saving) ==
        std::vector<std::string>{
            "profile 'smoke': too short to be compared",
            "the CPU's frequency governor is 'performance', 'powersave', not 'performance'"});

    MachineFacts limited = with_governors({{0, "performance"}});
    limited.cpu_quota_cores = 2.5;
    CHECK(not_comparable_because({.name = "standard"}, enough_cores(), limited) ==
          std::vector<std::string>{"the control group allows 2.5 cores of CPU time, fewer than the "
                                   "four parties may use"});

    MachineFacts unknown;
    unknown.unavailable["governor"] = "no frequency control";
    const auto reasons =
        not_comparable_because({.name = "standard"}, plan_cores({.cores = {{{0}}}}), unknown);
    REQUIRE(reasons.size() == 2);
    CHECK(reasons[1] == "the CPU's frequency governor is not known: no frequency control");
}
