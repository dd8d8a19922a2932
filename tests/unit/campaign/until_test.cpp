#include "campaign/until.hpp"
#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/judge.hpp"

namespace {

using namespace mqcore;
using namespace mqcore::campaign;
using namespace mqcore::tests;

driver::Descriptor client(std::string id) {
    return {.id = std::move(id),
            .claims = {.shape = MQCORE_SHAPE_SYNC,
                       .protocols = MQCORE_V311 | MQCORE_V5,
                       .publish_qos = 7,
                       .subscribe_qos = 7}};
}

Plan plan_of(std::uint32_t runs) {
    scenario::Point point{.id = "p", .kind = scenario::Kind::pub};
    point.is_capacity = true;
    return make_plan({point}, {client("a"), client("b"), client("c")}, runs);
}

Json run(const char* name, std::uint64_t number, std::uint64_t rate) {
    Json document = pub_document(0, 0);
    at(document, "client_name") = name;
    at(document, "point") = "p";
    at(document, "run") = number;
    at(document, "peer.report.receive.window") = rate * 8;
    verdict::judge_into(document, {});
    return document;
}

Json invalid_run(const char* name, std::uint64_t number) {
    Json document = run(name, number, 1000);
    at(document, "broker.fresh") = false;
    verdict::judge_into(document, {});
    return document;
}

// Blocks 1, 2, … in which "b" is this much faster than "a".
std::vector<Json> blocks(const std::vector<double>& ratios) {
    std::vector<Json> runs;
    for (std::uint64_t number = 1; number <= ratios.size(); ++number) {
        runs.push_back(run("a", number, 10'000));
        runs.push_back(run("b", number, static_cast<std::uint64_t>(10'000 * ratios[number - 1])));
        runs.push_back(invalid_run("c", number));
    }
    return runs;
}

} // namespace

TEST_CASE("blocks are added until every ratio that can be known is known well enough") {
    const Plan plan = plan_of(1);
    const Until until{.width = 0.02, .runs_max = 6};
    CHECK_FALSE(further_runs(plan, blocks({1.2}), until).empty()); // no interval of one block
    CHECK_FALSE(further_runs(plan, blocks({1.2, 1.2}), until).empty());
    CHECK(further_runs(plan, blocks({1.2, 1.2, 1.2}), until).empty());
    CHECK_FALSE(further_runs(plan, blocks({1.2, 1.1, 1.3}), until).empty());
    CHECK(further_runs(plan, blocks({1.2, 1.1, 1.3}), {.width = 2, .runs_max = 6}).empty());
}

TEST_CASE("the limit ends a point that never settles") {
    CHECK(
        further_runs(plan_of(3), blocks({1.2, 1.1, 1.3}), {.width = 0.02, .runs_max = 3}).empty());
}

TEST_CASE("a further block is the one that a longer plan would have") {
    const Plan plan = plan_of(3);
    const std::vector<PlannedRun> further =
        further_runs(plan, blocks({1.2, 1.1, 1.3, 1.2}), {.width = 0.02, .runs_max = 9});
    REQUIRE(further.size() == 3);
    const Plan longer = plan_of(5);
    for (std::size_t place = 0; place < 3; ++place) {
        CHECK(further[place].client == longer.runs[4 * 3 + place].client);
        CHECK(further[place].run == 5);
    }
}
