#include "fake_root.hpp"
#include "machine/condition.hpp"

#include "support/catch.hpp"

using namespace mqcore;
using namespace mqcore::machine;
using test::FakeRoot;

namespace {

void write_cpu(FakeRoot& root, int number, const std::string& governor, const std::string& khz) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number) + "/";
    root.with(folder + "cpufreq/scaling_governor", governor + "\n")
        .with(folder + "cpufreq/scaling_cur_freq", khz + "\n")
        .with(folder + "topology/thread_siblings_list", number % 2 ? "1,3\n" : "0,2\n");
}

} // namespace

TEST_CASE("a desktop's condition is read") {
    FakeRoot root;
    root.with("sys/devices/system/cpu/online", "0-1,3\n")
        .with("sys/devices/system/cpu/cpufreq/boost", "1\n")
        .with("proc/loadavg", "0.52 1.25 3.00 2/1234 5678\n")
        .with("sys/class/hwmon/hwmon0/name", "nvme\n")
        .with("sys/class/hwmon/hwmon0/temp1_input", "91000\n")
        .with("sys/class/hwmon/hwmon1/name", "coretemp\n")
        .with("sys/class/hwmon/hwmon1/temp1_input", "54000\n")
        .with("sys/class/hwmon/hwmon1/temp2_input", "61500\n")
        .with("sys/class/hwmon/hwmon1/temp2_max", "100000\n");
    for (const int number : {0, 1, 3})
        write_cpu(root, number, "performance", "360000" + std::to_string(number));
    const Condition seen = read_condition(root.path());
    REQUIRE(seen.unavailable.empty());
    REQUIRE(seen.cpus.size() == 3);
    CHECK(seen.cpus[2].number == 3);
    CHECK(seen.cpus[2].governor == "performance");
    CHECK(seen.cpus[2].frequency_khz == 3'600'003);
    CHECK(seen.cpus[2].siblings == std::vector{1, 3});
    CHECK(seen.has_turbo == true);
    CHECK(seen.load_average == std::array{0.52, 1.25, 3.0});
    CHECK(seen.temperatures == std::map<std::string, double>{{"coretemp", 61.5}});
    CHECK(support::print_json(to_json(seen)) ==
          R"({"cpus":{"number":[0,1,3],"governor":["performance","performance","performance"],)"
          R"("frequency_khz":[3600000,3600001,3600003],"siblings":[[0,2],[1,3],[1,3]]},)"
          R"("turbo":true,"load_average":[5.2E-1,1.25E0,3E0],"temperatures":{"coretemp":6.15E1},)"
          R"("unavailable":{}})");
}

TEST_CASE("a thermal zone of the processor tells where there is no other sensor") {
    FakeRoot root;
    root.with("sys/class/thermal/thermal_zone0/type", "acpitz\n")
        .with("sys/class/thermal/thermal_zone0/temp", "27800\n")
        .with("sys/class/thermal/thermal_zone1/type", "cpu-thermal\n")
        .with("sys/class/thermal/thermal_zone1/temp", "48312\n");
    CHECK(read_condition(root.path()).temperatures ==
          std::map<std::string, double>{{"cpu-thermal", 48.312}});
}

TEST_CASE("each value that a virtual machine lacks has a reason") {
    FakeRoot root;
    root.with("sys/devices/system/cpu/online", "0\n").with("proc/loadavg", "nothing\n");
    const Condition seen = read_condition(root.path());
    REQUIRE(seen.cpus.size() == 1);
    CHECK_FALSE(seen.cpus[0].governor);
    for (const char* name :
         {"governor", "frequency_khz", "siblings", "turbo", "load_average", "temperatures"})
        CHECK(seen.unavailable.contains(name));
    CHECK(seen.unavailable.at("frequency_khz").find("no frequency control") != std::string::npos);
    CHECK(read_condition(FakeRoot().path()).unavailable.contains("cpus"));
}
