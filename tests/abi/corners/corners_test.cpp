// Drivers built against every released driver.h, today's and a simulated next one, in this core and in a
// core that was built against the next one: each pair exchanges messages, and whoever is newer finds that
// the other side lacks what was added.
//
// This file is compiled twice. With CORNER_NEXT the core in question, its worker included, is one that
// was built against the next driver.h.

#include "conformance/bench.hpp"
#include "driver/loaded_driver.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace mqcore;
using conformance::Outcome;

#ifdef CORNER_NEXT
constexpr bool kCoreIsNext = true;
#else
constexpr bool kCoreIsNext = false;
#endif

struct Corner {
    std::string id;
    std::filesystem::path folder;
    bool is_next = false;
};

// A folder a driver: corner-MAJOR-MINOR of each release, corner-now and corner-next.
std::vector<Corner> corners() {
    std::vector<Corner> all;
    for (const auto& entry : std::filesystem::directory_iterator(CORNER_DRIVERS)) {
        const std::string id = entry.path().filename().string();
        all.push_back({.id = id, .folder = entry.path(), .is_next = id == "corner-next"});
    }
    std::ranges::sort(all, {}, &Corner::id);
    return all;
}

conformance::CheckOptions options() {
    return {.worker_program = CORNER_WORKER,
            .peer_program = mqcore::tests::build_folder() / "bin/mqpeer"};
}

} // namespace

TEST_CASE("there is a corner for each release, for today and for the next version") {
    std::vector<std::string> ids;
    for (const Corner& corner : corners())
        ids.push_back(corner.id);
    CHECK(ids.size() >= 3);
    for (const char* id : {"corner-1-0", "corner-next", "corner-now"})
        CHECK(std::ranges::count(ids, id) == 1);
}

TEST_CASE("a driver of any minor version keeps its contract in this core") {
    conformance::CheckOptions these = options();
    these.only = {"descriptor-valid", "loads",
                  "entry-point",      "magic-and-size",
                  "abi-version",      "functions-present",
                  "info-valid",       "info-equals-descriptor",
                  "publishes-all",    "receives-all",
                  "disconnects"};
    for (const Corner& corner : corners()) {
        const auto report = conformance::check_driver(corner.folder.string(), {}, these);
        if (!report)
            FAIL(support::one_line(report.error()));
        INFO(corner.id << '\n' << conformance::print(*report, false));
        CHECK(report->results.size() == these.only.size());
        for (const conformance::CheckResult& result : report->results)
            CHECK(result.outcome == Outcome::pass);
    }
}

TEST_CASE("a driver finds what this core has and no more") {
    for (const Corner& corner : corners()) {
        INFO(corner.id);
        auto descriptor = driver::driver_named(corner.folder.string(), {});
        REQUIRE(descriptor);
        auto bench = conformance::Bench::make(
            {.name = corner.id, .descriptor = *std::move(descriptor), .has_descriptor = true},
            options());
        REQUIRE(bench);
        conformance::Trial trial(**bench);
        measure::WorkerSpec spec = (*bench)->specification(measure::Protocol::v311, 0);
        REQUIRE(trial.prepare(spec));
        // Nobody listens on port 0, but the notes up to the failure are told.
        const conformance::Step step = trial.connect();
        REQUIRE(step.trouble);
        CHECK(step.trouble->status == "network");
        const support::Json* notes = support::find(step.trouble->said, "notes");
        REQUIRE(notes);
        const std::string expected = kCoreIsNext && corner.is_next ? "present" : "absent";
        CHECK(support::text_or(*notes, "later of host", "") == expected);
        CHECK(support::text_or(*notes, "later of run", "") == expected);
    }
}

TEST_CASE("this core finds what a driver has and no more") {
    for (const Corner& corner : corners()) {
        INFO(corner.id);
        const auto loaded = driver::load_driver(corner.folder / (corner.id + ".so"), corner.folder);
        if (!loaded)
            FAIL(support::one_line(loaded.error()));
        CHECK(loaded->id == corner.id);
        CHECK(loaded->claims.qos0_completion == MQCORE_QOS0_WRITTEN);
#ifdef CORNER_NEXT
        // What a core of the next version would write to use the new members.
        const bool has_function = MQCORE_HAS(loaded->table, mqcore_driver, later);
        CHECK(has_function == corner.is_next);
        CHECK((has_function ? loaded->table->later(nullptr) : 0) == (corner.is_next ? 17 : 0));
        const bool has_claim = MQCORE_HAS(loaded->table->info, mqcore_info, later);
        CHECK((has_claim ? loaded->table->info->later : 0) == (corner.is_next ? 23 : 0));
#else
        CHECK((loaded->table->size > sizeof(mqcore_driver)) == corner.is_next);
        CHECK((loaded->table->info->size > sizeof(mqcore_info)) == corner.is_next);
#endif
    }
}
