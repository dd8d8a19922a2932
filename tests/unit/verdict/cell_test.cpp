#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/cell.hpp"
#include "verdict/judge.hpp"

namespace {

using namespace mqcore::tests;
using namespace mqcore::verdict;

Json judged(Json run, std::uint64_t number, std::uint64_t attempt = 1) {
    at(run, "run") = number;
    at(run, "attempt") = attempt;
    judge_into(run, {});
    return run;
}

// Rate in messages per second of the 8 s window.
Json pub_at(std::uint64_t rate, std::uint64_t number) {
    Json run = pub_document(0, 0);
    at(run, "peer.report.receive.window") = rate * 8;
    return judged(std::move(run), number);
}

Json invalid_pub(std::uint64_t number, std::uint64_t attempt) {
    Json run = pub_document(0, 0);
    at(run, "broker.fresh") = false;
    return judged(std::move(run), number, attempt);
}

} // namespace

TEST_CASE("a cell's value is the median of its valid runs") {
    const Cell odd =
        aggregate(std::vector<Json>{pub_at(1000, 1), pub_at(1800, 2), pub_at(1200, 3)});
    CHECK(odd.client == "paho-c");
    CHECK(odd.runs == 3);
    CHECK(odd.valid_runs == 3);
    CHECK(*odd.metrics.at("rate").value == Approx(1200));
    CHECK(odd.metrics.at("rate").by_run ==
          std::map<std::uint64_t, double>{{1, 1000.}, {2, 1800.}, {3, 1200.}});
    const auto interval = interval_of(odd.metrics.at("rate"));
    REQUIRE(interval);
    CHECK(interval->low < 1000);
    CHECK(interval->high > 1800);
    const Cell even = aggregate(std::vector<Json>{pub_at(1000, 1), pub_at(1800, 2)});
    CHECK(*even.metrics.at("rate").value == Approx(1400));
    CHECK_FALSE(interval_of(even.metrics.at("rate"))); // two runs bear none
}

TEST_CASE("a cell's percentiles are those of the merged histogram") {
    Json fast = pub_document();
    at(fast, "peer.report.receive.transit") = histogram_of(900, 1'000'000, 0);
    Json slow = pub_document();
    at(slow, "peer.report.receive.transit") = histogram_of(100, 5'000'000, 0);
    const Cell cell =
        aggregate(std::vector<Json>{judged(std::move(fast), 1), judged(std::move(slow), 2)});
    CHECK(*cell.metrics.at("transit_p50_us").value == Approx(1000).epsilon(0.016));
    CHECK(*cell.metrics.at("transit_p90_us").value == Approx(1000).epsilon(0.016));
    CHECK(*cell.metrics.at("transit_p99_us").value == Approx(5000).epsilon(0.016));
    CHECK(*cell.metrics.at("transit_max_us").value == Approx(5000));
    CHECK(cell.metrics.at("transit_p99_us").samples == 1000);
    CHECK_FALSE(cell.metrics.at("rate").samples);
}

TEST_CASE("a cell has the histograms of its point's metrics and no others") {
    const auto names_of = [](Json run) {
        std::vector<std::string> names;
        for (const auto& [name, histogram] :
             aggregate(std::vector<Json>{judged(std::move(run), 1)}).histograms)
            names.push_back(name);
        return names;
    };
    CHECK(names_of(pub_document()) == std::vector<std::string>{"lag", "since_due", "transit"});
    // What the client receives here is the answer, which is transit already.
    CHECK(names_of(rtt_document(1)) == std::vector<std::string>{"lag", "since_due", "transit"});
    CHECK(names_of(idle_document()).empty());
}

TEST_CASE("a retry takes the place of its first attempt in the cell") {
    const Cell cell = aggregate(
        std::vector<Json>{invalid_pub(1, 1), judged(pub_document(0, 0), 1, 2), pub_at(2000, 2)});
    CHECK(cell.status == Status::valid);
    CHECK(cell.runs == 2);
    CHECK(cell.valid_runs == 2);
    CHECK(cell.reason.empty());
}

TEST_CASE("only valid runs enter a cell") {
    Json slow = pub_document();
    at(slow, "client.report.send.sent_window") = 8'000;
    at(slow, "peer.report.receive.window") = 8'000;
    const Cell cell =
        aggregate(std::vector<Json>{judged(pub_document(), 1), judged(std::move(slow), 2)});
    CHECK(cell.status == Status::valid);
    CHECK(cell.valid_runs == 1);
    CHECK(cell.by_status.at(Status::not_sustained) == 1);
    CHECK(*cell.metrics.at("rate").value == Approx(2000));
    CHECK(cell.regime == "sleeping");
}

TEST_CASE("without a valid run a finding about the client outweighs runs that say nothing") {
    Json slow = pub_document();
    at(slow, "client.report.send.sent_window") = 8'000;
    Json broken = pub_document();
    at(broken, "broker.fresh") = false;
    const Cell cell =
        aggregate(std::vector<Json>{judged(std::move(broken), 1), judged(std::move(slow), 2)});
    CHECK(cell.status == Status::not_sustained);
    CHECK(cell.reason.starts_with("offered_rate_held: 8,000 of 16,000"));
    CHECK(cell.party == "client");
    CHECK(cell.metrics.empty());
    const Cell nothing = aggregate(std::vector<Json>{invalid_pub(1, 1), invalid_pub(1, 2)});
    CHECK(nothing.status == Status::invalid);
    CHECK(nothing.runs == 1);
    CHECK(nothing.party == "harness");
}

TEST_CASE("a cell of which the client cannot do the point says so, and blames nobody") {
    Json refused = pub_document();
    at(refused, "failure") = JsonObject{{"party", "client"},
                                        {"phase", "connecting"},
                                        {"status", "unsupported"},
                                        {"reason", "the broker granted QoS 0"}};
    at(refused, "client.report") = nullptr;
    const Json run = judged(std::move(refused), 1);
    CHECK(run.at("status") == "unsupported");
    CHECK(run.at("party").is_null());
    const Cell cell = aggregate(std::vector<Json>{run, invalid_pub(2, 1)});
    CHECK(cell.status == Status::unsupported);
    CHECK(cell.reason.find("granted QoS 0") != std::string::npos);
    CHECK(cell.party.empty());
}

TEST_CASE("a cell counts its flags, names differing regimes and says what is not available") {
    Json first = pub_document();
    at(first, "peer.report.receive.dup_flagged") = 1;
    at(first, "resources.client.rss_peak_kib") = nullptr;
    Json second = pub_document();
    at(second, "client.report.send.slept") = 0;
    at(second, "resources.client.rss_peak_kib") = nullptr;
    const Cell cell =
        aggregate(std::vector<Json>{judged(std::move(first), 1), judged(std::move(second), 2)});
    CHECK(cell.flags.at("redelivered") == 1);
    CHECK(cell.flag_details.at("redelivered").ends_with("1 at the peer"));
    CHECK(cell.regime == "differs");
    CHECK_FALSE(cell.metrics.at("rss_peak_kib").value);
    CHECK(cell.metrics.at("rss_peak_kib").unavailable == "the run has no 'rss_peak_kib'");
}

TEST_CASE("a campaign's runs fall into cells by client and point") {
    Json other = judged(pub_document(), 1);
    at(other, "client_name") = "gmqtt";
    const std::vector<Cell> cells = cells_of(std::vector<Json>{
        judged(pub_document(), 1), other, judged(sub_document(), 1), judged(pub_document(), 2)});
    REQUIRE(cells.size() == 3);
    CHECK(cells[0].client == "paho-c");
    CHECK(cells[0].runs == 2);
    CHECK(cells[1].client == "gmqtt");
    CHECK(cells[2].point == "sub_qos1_fixed");
}
