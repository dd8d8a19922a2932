// The table of checks and its report.

#include "conformance/checks.hpp"
#include "support/catch.hpp"

#include <set>

namespace {

using namespace mqcore;
using conformance::Outcome;

conformance::CheckReport report_of(Outcome outcome, std::string detail) {
    return {.driver = "example",
            .name = "drivers/example.so",
            .library = "/somewhere/drivers/example.so",
            .results = {{.group = "static",
                         .id = "loads",
                         .says = "the library opens",
                         .outcome = Outcome::pass,
                         .detail = {}},
                        {.group = "life",
                         .id = "connects",
                         .says = "connect() returns",
                         .outcome = outcome,
                         .detail = std::move(detail)}}};
}

} // namespace

TEST_CASE("a check has an id of its own, and builds on an earlier one") {
    std::set<std::string_view> ids, groups;
    for (const auto group : {conformance::table_checks(), conformance::life_checks(),
                             conformance::traffic_checks(), conformance::claim_checks()})
        for (const conformance::Check& check : group) {
            CAPTURE(check.id);
            CHECK(check.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                  std::string_view::npos);
            CHECK_FALSE(check.says.empty());
            groups.insert(check.group);
            CHECK((check.needs.empty() || ids.contains(check.needs)));
            CHECK(ids.insert(check.id).second);
        }
    CHECK(ids.size() == conformance::all_checks().size());
    CHECK(groups == std::set<std::string_view>(std::begin(conformance::kGroups),
                                               std::end(conformance::kGroups)));
}

TEST_CASE("a report conforms when nothing failed, crashed or hung") {
    CHECK(conformance::conforms(report_of(Outcome::pass, {})));
    CHECK(conformance::conforms(report_of(Outcome::warning, "late")));
    CHECK(conformance::conforms(report_of(Outcome::skipped, "not claimed")));
    CHECK_FALSE(conformance::conforms(report_of(Outcome::fail, "no")));
    CHECK_FALSE(conformance::conforms(report_of(Outcome::crashed, "no")));
    CHECK_FALSE(conformance::conforms(report_of(Outcome::timed_out, "no")));
}

TEST_CASE("a breach is printed with its detail and the command that repeats it") {
    CHECK(conformance::print(
              report_of(Outcome::crashed, "the worker ended with signal 11 (SIGSEGV)"), false) ==
          "pass      static    loads     the library opens\n"
          "crashed   life      connects  connect() returns\n"
          "                              the worker ended with signal 11 (SIGSEGV)\n"
          "                              again: mqcore check-driver drivers/example.so --only "
          "connects\n"
          "'example' breaks the contract: 1 of 2 checks\n");
}

TEST_CASE("a skipped check says why and does not count") {
    CHECK(conformance::print(report_of(Outcome::skipped, "it does not claim to publish"), false) ==
          "pass      static    loads     the library opens\n"
          "skipped   life      connects  connect() returns\n"
          "                              it does not claim to publish\n"
          "'example' keeps the contract: 1 check, 1 skipped\n");
}

TEST_CASE("a report as JSON names the library without its folder") {
    const support::Json json = conformance::to_json(report_of(Outcome::timed_out, "late"));
    CHECK(
        support::print_json(json) ==
        R"({"driver":"example","library":"example.so","conforms":false,"checks":[)"
        R"({"group":"static","id":"loads","says":"the library opens","outcome":"pass","detail":""},)"
        R"({"group":"life","id":"connects","says":"connect() returns","outcome":"timed-out","detail":"late"}]})");
}

TEST_CASE("an unknown check is refused with the nearest one") {
    const auto report = conformance::check_driver("x", {}, {.only = {"conects"}});
    REQUIRE_FALSE(report);
    CHECK(support::one_line(report.error()) ==
          "there is no check 'conects' (did you mean 'connects'?)");
}
