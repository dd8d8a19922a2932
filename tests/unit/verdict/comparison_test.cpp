#include "support/catch.hpp"
#include "support/run_documents.hpp"
#include "verdict/comparison.hpp"
#include "verdict/judge.hpp"

#include <cmath>
#include <random>

namespace {

using namespace mqcore;
using namespace mqcore::tests;
using namespace mqcore::verdict;

Json judged(Json run, const char* client, std::uint64_t number) {
    at(run, "client_name") = client;
    at(run, "run") = number;
    judge_into(run, {});
    return run;
}

// A client's cell at capacity, with these rates in blocks 1, 2, …
Cell cell_of(const char* client, const std::vector<std::uint64_t>& rates) {
    std::vector<Json> runs;
    for (std::uint64_t number = 1; number <= rates.size(); ++number) {
        Json run = pub_document(0, 0);
        at(run, "peer.report.receive.window") = rates[number - 1] * 8;
        runs.push_back(judged(std::move(run), client, number));
    }
    return aggregate(runs);
}

// The same without its documents, for many campaigns.
Cell bare_cell(const char* client, const std::vector<double>& rates) {
    Cell cell{.client = client, .status = Status::valid};
    CellMetric& rate = cell.metrics["rate"];
    rate.value = median_of(rates);
    for (std::uint64_t number = 1; number <= rates.size(); ++number)
        rate.by_run[number] = rates[number - 1];
    return cell;
}

Cell fixed_cell(const char* client, const std::vector<std::uint64_t>& cpu_ms) {
    std::vector<Json> runs;
    for (std::uint64_t number = 1; number <= cpu_ms.size(); ++number) {
        Json run = pub_document();
        at(run, "resources.client.cpu_ns") = cpu_ms[number - 1] * kMillion;
        runs.push_back(judged(std::move(run), client, number));
    }
    return aggregate(runs);
}

Comparison rates(const Cell& first, const Cell& second) {
    return compare(first, second, "rate", Pairing::blocks);
}

std::map<std::string, std::string> ranks(const std::vector<Cell>& cells,
                                         const std::vector<Control>& controls = {}) {
    std::vector<const Cell*> pointers;
    for (const Cell& cell : cells)
        pointers.push_back(&cell);
    std::map<std::string, std::string> named;
    for (const auto& [cell, rank] : ranks_of(pointers, "rate", controls_among(pointers, controls)))
        named[cell->client] = std::to_string(rank.best) + "-" + std::to_string(rank.worst);
    return named;
}

} // namespace

TEST_CASE("what the host does to a whole block takes no part in a comparison") {
    // Block 2 ran at half speed for both; the ratio is 1.1 in each.
    const Comparison pair =
        rates(cell_of("a", {10'000, 5'000, 10'000}), cell_of("b", {11'000, 5'500, 11'000}));
    CHECK(*pair.ratio == Approx(1.1));
    CHECK(pair.runs == 3);
    CHECK(pair.relation == Relation::higher);
    CHECK(word_of(pair) == "faster");
    CHECK(gain_of(pair) == 1);
    // Apart, the same numbers show nothing.
    CHECK(compare(cell_of("a", {10'000, 5'000, 10'000}), cell_of("b", {11'000, 5'500, 11'000}),
                  "rate", Pairing::apart)
              .relation == Relation::indistinguishable);
}

TEST_CASE("two clients of one distribution are indistinguishable in 95 of 100 campaigns") {
    std::mt19937_64 random(7);
    // Four runs with 3 % of noise.
    const auto noisy = [&](double truth) {
        std::vector<double> values(4);
        for (double& value : values) {
            double sum = -6; // twelve uniform numbers: near enough to a normal distribution
            for (int i = 0; i < 12; ++i)
                sum += static_cast<double>(random() >> 11) * 0x1p-53;
            value = truth * (1 + 0.03 * sum);
        }
        return values;
    };
    int same = 0, told = 0;
    constexpr int kCampaigns = 200;
    for (int campaign = 0; campaign < kCampaigns; ++campaign) {
        const Cell first = bare_cell("a", noisy(10'000));
        same += rates(first, bare_cell("b", noisy(10'000))).relation == Relation::indistinguishable;
        told += word_of(rates(first, bare_cell("c", noisy(12'500)))) == "faster";
    }
    INFO(same << " and " << told << " of " << kCampaigns);
    CHECK(same >= kCampaigns * 93 / 100);
    CHECK(told >= kCampaigns * 95 / 100);
}

TEST_CASE("a verdict's word fits its metric") {
    const Cell cheap = fixed_cell("a", {1000, 1010, 1005});
    const Cell dear = fixed_cell("b", {2000, 2010, 2020});
    const Comparison cpu = compare(cheap, dear, "cpu_us_per_message", Pairing::blocks);
    CHECK(word_of(cpu) == "more");
    CHECK(gain_of(cpu) == -1);
    CHECK(word_of(compare(dear, cheap, "cpu_us_per_message", Pairing::blocks)) == "less");
    CHECK(word_of(rates(cell_of("a", {900, 901, 902}), cell_of("b", {800, 801, 802}))) == "slower");
    CHECK(is_speed(*find_metric("transit_p99_us")));
    CHECK_FALSE(is_speed(*find_metric("rss_peak_kib")));
    // A metric without a better side has a word and no gain.
    Comparison broker{.metric = "broker_cpu_percent", .relation = Relation::higher};
    CHECK(word_of(broker) == "more");
    CHECK(gain_of(broker) == 0);
}

TEST_CASE("what cannot be compared says why and has no interval") {
    const Cell three = cell_of("a", {900, 901, 902});
    const Comparison few = rates(three, cell_of("b", {900, 901}));
    CHECK(few.relation == Relation::unknown);
    CHECK_FALSE(few.interval);
    CHECK(*few.ratio == Approx(1));
    CHECK(few.why == "2 common blocks of valid runs, an interval needs 3");
    CHECK(rates(cell_of("a", {900, 900, 900}), cell_of("b", {0, 0, 0})).relation ==
          Relation::unknown);
    Json behind = pub_document();
    at(behind, "client.report.send.slept") = 0;
    std::vector<Json> saturated;
    for (const std::uint64_t number : {1u, 2u, 3u})
        saturated.push_back(judged(behind, "b", number));
    const Comparison regimes = compare(fixed_cell("a", {1000, 1000, 1000}), aggregate(saturated),
                                       "cpu_us_per_message", Pairing::blocks);
    CHECK(regimes.why == "pacing regimes differ: sleeping and saturated");
    CHECK(compare(three, three, "lag_p99_us", Pairing::blocks).why == "a has no such value");
}

TEST_CASE("a difference no larger than that of a client to itself cannot be told") {
    const Cell client = cell_of("a", {10'000, 10'010, 10'020});
    const Cell control = cell_of("a#control", {10'500, 10'520, 10'500});
    const Comparison self = rates(client, control);
    REQUIRE(is_told(self));
    Comparison small = rates(client, cell_of("b", {10'300, 10'305, 10'330}));
    REQUIRE(word_of(small) == "faster");
    temper(small, self);
    CHECK(word_of(small) == "cannot_tell");
    CHECK(small.why.starts_with("one client under two names differs by up to 5."));
    CHECK(gain_of(small) == 0);
    Comparison large = rates(client, cell_of("c", {20'000, 20'100, 20'050}));
    temper(large, self);
    CHECK(word_of(large) == "faster");
}

TEST_CASE("clients that cannot be told apart share their places, and a control has none") {
    const std::vector<Cell> cells = {
        cell_of("fast", {20'000, 20'100, 20'050}), cell_of("one", {10'000, 10'400, 10'100}),
        cell_of("two", {10'100, 10'100, 10'300}), cell_of("slow", {3'000, 3'010, 3'020})};
    CHECK(ranks(cells) == std::map<std::string, std::string>{
                              {"fast", "1-1"}, {"one", "2-3"}, {"two", "2-3"}, {"slow", "4-4"}});
    std::vector<Cell> with_control = cells;
    with_control.push_back(cell_of("slow#control", {3'000, 3'015, 3'010}));
    CHECK(ranks(with_control, {{.client = "slow", .control = "slow#control"}}) == ranks(cells));
    // The control shows a noise in which even the fastest drowns.
    with_control.back() = cell_of("slow#control", {90'000, 91'000, 90'500});
    CHECK(ranks(with_control, {{.client = "slow", .control = "slow#control"}}).at("fast") == "1-4");
}

TEST_CASE("two runs bear no ranking") {
    CHECK(ranks({cell_of("a", {20'000, 20'100}), cell_of("b", {1'000, 1'001})}).empty());
}

TEST_CASE("each load has a leading metric") {
    scenario::Point point{.id = "p"};
    CHECK(leading_metric(point) == "connect_us");
    point.rate = 100;
    CHECK(leading_metric(point) == "cpu_us_per_message");
    point.is_capacity = true;
    CHECK(leading_metric(point) == "rate");
}
