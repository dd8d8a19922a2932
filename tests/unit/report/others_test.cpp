#include "report/others.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using support::Json;
using support::JsonArray;
using support::JsonObject;

namespace {

Json run(const char* status, double builder, double kernel) {
    return JsonObject{
        {"status", status},
        {"resources",
         JsonObject{
             {"host",
              JsonObject{{"kernel_busy_cores", kernel},
                         {"top", JsonArray{JsonObject{{"name", "builder"}, {"cores", builder}},
                                           JsonObject{{"name", "sshd"}, {"cores", 0.01}}}}}}}}};
}

} // namespace

TEST_CASE("what ran behind failed runs is named with the most it took and in how many of them") {
    const std::vector<Json> runs = {run("invalid", 0.8, 0.02), run("valid", 3, 3),
                                    run("not_sustained", 1.25, 0.3), run("unsupported", 3, 3)};
    REQUIRE(report::others_behind_failures(runs, {}) ==
            "\nWhat else ran while runs were invalid or not sustained:\n\n"
            "  behind failed runs                                   most cores  runs\n"
            "  ---------------------------------------------------  ----------  ----\n"
            "  builder                                                    1.25   2/2\n"
            "  the kernel, for no process (interrupts, hypervisor)        0.30   1/2\n");
}

TEST_CASE("nothing is told where no run failed, or nothing else ran") {
    REQUIRE(report::others_behind_failures(std::vector{run("valid", 2, 2)}, {}).empty());
    REQUIRE(report::others_behind_failures(std::vector{run("invalid", 0.02, 0.01)}, {}).empty());
    REQUIRE(report::others_behind_failures(std::vector<Json>{JsonObject{{"status", "invalid"}}}, {})
                .empty());
}
