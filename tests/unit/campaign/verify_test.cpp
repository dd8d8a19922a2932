#include "campaign/verify.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>

namespace {

using namespace mqcore;
using namespace mqcore::campaign;
using namespace mqcore::tests;

// The campaign of the tests, without the pair that its table shows as not run and with the second attempts
// of its invalid runs.
StoredCampaign whole() {
    CampaignDocuments documents = campaign_documents();
    at(documents.manifest, "refused")
        .as_array()
        .push_back(
            JsonObject{{"client", "paho"}, {"point", "idle_connect"}, {"missing", JsonArray{"x"}}});
    StoredCampaign campaign;
    campaign.manifest = std::move(documents.manifest);
    campaign.runs = std::move(documents.runs);
    for (std::size_t index = 0, planned = campaign.runs.size(); index < planned; ++index)
        if (at(campaign.runs[index], "status") == "invalid") {
            campaign.runs.push_back(campaign.runs[index]);
            at(campaign.runs.back(), "attempt") = 2;
        }
    return campaign;
}

Json& verdict_row(Json& run, const char* list, const char* id) {
    for (Json& item : at(run, list).as_array())
        if (at(item, "id") == id)
            return item;
    throw std::runtime_error("no such row");
}

} // namespace

TEST_CASE("a campaign as the judge wrote it has no difference and no fault") {
    const Verification found = verify(whole());
    CHECK(found.runs == 23);
    CHECK(found.values > 500);
    CHECK(found.differences.empty());
    CHECK(found.faults.empty());
    CHECK(found.notes.empty());
}

TEST_CASE("a changed metric, check, flag and status are each named with both values") {
    StoredCampaign campaign = whole();
    Json& run = campaign.runs[0];
    at(run, "metrics.rate") = 50'000.0;
    at(verdict_row(run, "checks", "no_loss"), "outcome") = "fail";
    at(campaign.runs[1], "status") = "not_sustained";
    at(campaign.runs[2], "flags") =
        JsonArray{JsonObject{{"id", "nagle_on"}, {"detail", "at the client"}}};
    const Verification found = verify(campaign);
    REQUIRE(found.differences.size() == 4);
    CHECK(found.differences[0].where == "gmqtt.json: pub_qos0_max run 1");
    CHECK(found.differences[0].what == "check no_loss");
    CHECK(found.differences[1].what == "metric rate");
    CHECK(found.differences[1].stored == "5E4");
    CHECK(found.differences[1].computed == "4.011E4");
    CHECK(found.differences[2].what == "status");
    CHECK(found.differences[2].stored == "\"not_sustained\"");
    CHECK(found.differences[2].computed == "\"valid\"");
    CHECK(found.differences[3].what == "flag nagle_on");
    CHECK(found.differences[3].computed == "nothing");
}

TEST_CASE("a changed count or histogram contradicts the stored verdict") {
    StoredCampaign campaign = whole();
    add(campaign.runs[0], "peer.report.receive.window", -800);
    CHECK_FALSE(verify(campaign).differences.empty());
    campaign = whole();
    at(campaign.runs[0], "peer.report.receive.transit") = histogram_of(2000, 90'000, 100);
    const Verification found = verify(campaign);
    CHECK(std::ranges::any_of(found.differences, [](const Difference& difference) {
        return difference.what == "metric transit_p50_us";
    }));
}

TEST_CASE("a row that was added to the table later is a note, one that was taken out is not") {
    StoredCampaign campaign = whole();
    for (Json& run : campaign.runs)
        at(run, "metrics").as_object().erase("rate");
    Verification found = verify(campaign);
    CHECK(found.is_sound());
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0] == "metric rate is not in the file (added later): 19 runs");
    // Any run that has it shows that this mqcore knew it.
    campaign = whole();
    at(campaign.runs[0], "metrics").as_object().erase("rate");
    CHECK(verify(campaign).differences.size() == 1);
    // And a manifest says it itself.
    campaign = whole();
    JsonObject table{
        {"checks", JsonArray{}}, {"flags", JsonArray{}}, {"metrics", JsonArray{"rate"}}};
    at(campaign.manifest, "mqcore").as_object()["table"] = std::move(table);
    for (Json& run : campaign.runs)
        at(run, "metrics").as_object().erase("rate");
    CHECK(verify(campaign).differences.size() == 19);
}

TEST_CASE("a check that was added later decides nothing about an old run") {
    StoredCampaign campaign = whole();
    for (Json& run : campaign.runs) {
        const bool is_old_invalid = at(run, "reason").is_string() &&
                                    at(run, "reason").as_string().starts_with("host_quiet");
        JsonArray checks;
        for (const Json& check : at(run, "checks").as_array())
            if (check.as_object().at("id") != "host_quiet")
                checks.push_back(check);
        at(run, "checks") = std::move(checks);
        if (!is_old_invalid)
            continue;
        at(run, "status") = "valid";
        at(run, "reason") = nullptr;
        at(run, "party") = nullptr;
    }
    const Verification found = verify(campaign);
    CHECK(found.differences.empty());
    CHECK(found.notes.size() == 1);
}

TEST_CASE("other words with the same numbers are a note, other numbers a difference") {
    StoredCampaign campaign = whole();
    Json& detail = at(verdict_row(campaign.runs[0], "checks", "window_not_empty"), "detail");
    const std::string before(detail.as_string());
    detail = "put otherwise: " + before;
    CHECK(verify(campaign).is_sound());
    CHECK(verify(campaign).notes.size() == 1);
    at(verdict_row(campaign.runs[0], "checks", "window_not_empty"), "detail") = before + " 7";
    CHECK_FALSE(verify(campaign).is_sound());
}

TEST_CASE("missing, repeated and foreign runs are faults") {
    StoredCampaign campaign = whole();
    campaign.runs.erase(campaign.runs.begin());
    REQUIRE(verify(campaign).faults.size() == 1);
    CHECK(verify(campaign).faults[0] == "gmqtt.json: pub_qos0_max run 1 is missing");
    at(campaign.manifest, "state") = "interrupted";
    CHECK(verify(campaign).is_sound());
    CHECK(verify(campaign).notes[0] ==
          "the campaign is interrupted: 19 of 20 planned runs are there");

    campaign = whole();
    campaign.runs.push_back(campaign.runs[0]);
    CHECK(verify(campaign).faults[0] == "gmqtt.json: pub_qos0_max run 1: is there twice");
    campaign = whole();
    at(campaign.runs[0], "spec.payload_bytes") = JsonArray{64};
    CHECK(verify(campaign).faults[0] ==
          "gmqtt.json: pub_qos0_max run 1: 'spec' is not the manifest's point");
    campaign = whole();
    at(campaign.runs[0], "schedule.window_ns") = 1000;
    CHECK_FALSE(verify(campaign).faults.empty());
    campaign = whole();
    campaign.unexpected_files = {"stranger.json"};
    CHECK(verify(campaign).faults[0] == "stranger.json: of no client of the manifest");
}

TEST_CASE("an invalid run has two attempts, any other one") {
    StoredCampaign campaign = whole();
    const Json second = campaign.runs.back();
    campaign.runs.pop_back();
    const std::string place =
        fmt::format("{}.json: {} run {}", support::text_or(second, "client_name", ""),
                    support::text_or(second, "point", ""), support::unsigned_or(second, "run", 0));
    CHECK(verify(campaign).faults == std::vector{place + ": its second attempt is missing"});
    at(campaign.manifest, "state") = "interrupted"; // it would have come
    CHECK(verify(campaign).faults.empty());

    campaign = whole();
    campaign.runs.push_back(second);
    at(campaign.runs.back(), "attempt") = 3;
    CHECK(verify(campaign).faults == std::vector{place + " has an attempt 3"});

    campaign = whole();
    campaign.runs.push_back(campaign.runs[0]);
    at(campaign.runs.back(), "attempt") = 2;
    CHECK(verify(campaign).faults ==
          std::vector<std::string>{
              "gmqtt.json: pub_qos0_max run 1 was tried again, and was not invalid"});

    campaign = whole(); // a profiler is attached once
    campaign.manifest.as_object()["profiler"] = JsonObject{{"tool", "perf"}};
    CHECK(verify(campaign).faults.size() == 3);
}

TEST_CASE("a label that a run and the manifest tell apart is a fault") {
    StoredCampaign campaign = whole();
    at(campaign.manifest, "comparable") = false;
    CHECK(verify(campaign).faults[0] ==
          "manifest.json: 'comparable' is not what 'not_comparable_because' says");
    CHECK(verify(campaign).faults[1] ==
          "gmqtt.json: pub_qos0_max run 1: 'comparable' is not the manifest's");
    campaign = whole();
    at(campaign.runs[0], "not_comparable_because") = JsonArray{"profiled with perf"};
    CHECK(verify(campaign).faults[0] == "gmqtt.json: pub_qos0_max run 1: the manifest does not "
                                        "know the reason 'profiled with perf'");
    campaign = whole();
    campaign.runs[0].as_object()["receive_offer"] = 1.0;
    CHECK(verify(campaign).faults[0] ==
          "gmqtt.json: pub_qos0_max run 1: 'receive_offer' is not the manifest's");
    campaign = whole();
    campaign.changed_files = {"profile/perf.data"};
    CHECK(verify(campaign).faults[0] ==
          "profile/perf.data: is not the file that the manifest has the hash of");
}

TEST_CASE("the committed campaign is what its raw data say") {
    const auto stored =
        read_campaign(mqcore::tests::source_folder() / "results/2026-11-30-core-smoke");
    REQUIRE(stored);
    const Verification found = verify(*stored);
    for (const Difference& difference : found.differences)
        UNSCOPED_INFO(difference.where << ": " << difference.what);
    CHECK(found.is_sound());
    CHECK(found.runs == 32);
}

TEST_CASE("a mark stands beside the raw data and is read back with it") {
    const TemporaryFolder folder;
    folder.write("manifest.json", support::print_json(JsonObject{{"format", kResultsFormat},
                                                                 {"clients", JsonArray{}}}));
    CHECK(read_campaign(folder.path())->standing.is_null());
    REQUIRE(mark_standing(folder.path(), "retracted", "the broker was another one"));
    const auto stored = read_campaign(folder.path());
    REQUIRE(stored);
    CHECK(support::text_or(stored->standing, "standing", "") == "retracted");
    CHECK(support::text_or(stored->standing, "reason", "") == "the broker was another one");
    CHECK(stored->unexpected_files.empty());
}
