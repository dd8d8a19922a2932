// Status, precedence, regime and the JSON of a judgement.

#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/judge.hpp"

#include <algorithm>

namespace {

using namespace mqcore::tests;
using namespace mqcore::verdict;

} // namespace

TEST_CASE("a spoiled run says nothing about the client, even where the client failed as well") {
    Json run = pub_document();
    at(run, "client.report.send.sent_window") = 9'000; // the client's fault
    CHECK(judge(run, {}).status == Status::not_sustained);
    at(run, "resources.host.other_busy_cores") = 2.5; // the host's
    const Judgement judgement = judge(run, {});
    CHECK(judgement.status == Status::invalid);
    REQUIRE(judgement.party);
    CHECK(name_of(*judgement.party) == "host");
    CHECK(judgement.reason.starts_with("host_quiet: 2.50 cores"));
}

TEST_CASE("the reason is the first failed check of the table that decided") {
    Json run = sub_document();
    lose(run, "client.report.receive", 1000);
    const Judgement judgement = judge(run, {});
    CHECK(judgement.status == Status::not_sustained);
    CHECK(judgement.reason.starts_with("broker_confirms_deliveries: "));
    CHECK(name_of(*judgement.party) == "client");
}

TEST_CASE("a connection lost under load stays the client's finding when nothing else was read") {
    Json run = pub_document(0, 0);
    at(run, "failure") = JsonObject{{"party", "client"},
                                    {"phase", "window"},
                                    {"status", "network"},
                                    {"reason", "connection closed by the broker"}};
    at(run, "peer.report") = nullptr;
    at(run, "broker.fresh") = false;
    at(run, "broker.delta").as_object().clear();
    const Judgement judgement = judge(run, {});
    CHECK(judgement.status == Status::not_sustained);
    CHECK(judgement.reason ==
          "worker_completed: window: connection closed by the broker [network]");
}

TEST_CASE("the regime says whether the sender slept") {
    const auto regime = [](std::uint64_t slept, const char* pacing, double rate) {
        Json run = pub_document();
        at(run, "client.report.send.slept") = slept;
        at(run, "spec.pacing") = pacing;
        at(run, "spec.rate") = rate;
        return judge(run, {}).regime;
    };
    // 10 s of sending: 10,000 ticks, and 20,000 messages at 2,000/s
    CHECK(regime(9'990, "tick", 2000) == "sleeping");
    CHECK(regime(5'000, "tick", 2000) == "sleeping");
    CHECK(regime(4'999, "tick", 2000) == "mixed");
    CHECK(regime(0, "tick", 2000) == "saturated");
    CHECK(regime(9'990, "each", 2000) == "mixed");
    CHECK(regime(19'990, "each", 2000) == "sleeping");
    // Below one message a tick there is nothing to wait for on most ticks.
    CHECK(regime(990, "tick", 100) == "sleeping");
    CHECK(judge(sub_document(), {}).regime.empty());
    CHECK(judge(pub_document(1, 0), {}).regime.empty());
}

TEST_CASE("the verdict is written into the document and replaces an older one") {
    Json run = pub_document();
    at(run, "client.report.send.sent_window") = 9'000;
    judge_into(run, {});
    CHECK(at(run, "status") == "not_sustained");
    CHECK(at(run, "party") == "client");
    at(run, "client.report.send.sent_window") = kWindow;
    judge_into(run, {});
    CHECK(at(run, "status") == "valid");
    CHECK(at(run, "reason").is_null());
    CHECK(at(run, "party").is_null());
    CHECK(at(run, "regime") == "sleeping");
    CHECK(at(run, "checks").as_array().size() == checks().size());
    CHECK(at(run, "metrics.rate").to_number<double>() == 2000);
    CHECK(at(run, "metrics_unavailable").as_object().empty());
}

TEST_CASE("judging does not depend on what an earlier judgement wrote") {
    Json run = rtt_document();
    const Json first = to_json(judge(run, {}));
    judge_into(run, {});
    CHECK(first == Json(to_json(judge(run, {}))));
}

TEST_CASE("an empty or broken document is judged, not trusted") {
    for (const Json& run :
         {Json(nullptr), Json(JsonObject{}), Json(JsonArray{1, 2}),
          Json(JsonObject{{"spec", 3}, {"client", "x"}, {"broker", JsonArray{}}})}) {
        const Judgement judgement = judge(run, {});
        CHECK(judgement.status == Status::invalid);
        CHECK_FALSE(judgement.reason.empty());
    }
}

TEST_CASE("every value of a document may be missing or of another type") {
    // Whatever one replaces, the judge answers; what is unknown never becomes a passed check.
    const Json good = rtt_document();
    std::vector<std::string> paths;
    const auto walk = [&](auto& self, const Json& value, const std::string& path) -> void {
        if (!value.is_object())
            return;
        for (const auto& member : value.get_object()) {
            const std::string at_member =
                path.empty() ? std::string(member.key()) : path + "." + std::string(member.key());
            if (member.key().find('.') != std::string_view::npos)
                continue;
            paths.push_back(at_member);
            self(self, member.value(), at_member);
        }
    };
    walk(walk, good, "");
    REQUIRE(paths.size() > 100);
    for (const std::string& path : paths)
        for (const Json& other : {Json(nullptr), Json("text"), Json(-1), Json(JsonArray{}),
                                  Json(1e300), Json(JsonObject{})}) {
            Json run = good;
            at(run, path) = other;
            const Judgement judgement = judge(run, {});
            CHECK(judgement.checks.size() == checks().size());
        }
}
