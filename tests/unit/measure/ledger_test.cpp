#include "measure/ledger.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <numeric>
#include <random>

using mqcore::measure::SequenceLedger;
using Arrival = SequenceLedger::Arrival;
using Numbers = std::vector<std::uint64_t>;

TEST_CASE("numbers in order are neither lost, doubled nor reordered") {
    SequenceLedger ledger;
    for (std::uint64_t n = 0; n < 1000; ++n)
        REQUIRE(ledger.record(n) == Arrival::first);
    REQUIRE(ledger.distinct() == 1000);
    REQUIRE(ledger.lost(1000) == 0);
    REQUIRE(ledger.reordered() == 0);
    REQUIRE(ledger.frontier() == 1000);
}

TEST_CASE("a loss and a duplicate do not cancel") {
    SequenceLedger ledger;
    for (const std::uint64_t n : {0, 1, 1, 3}) // four arrivals of four sent
        (void)ledger.record(n);
    REQUIRE(ledger.lost(4) == 1);
    REQUIRE(ledger.first_lost(4) == Numbers{2});
    REQUIRE(ledger.duplicates() == 1);
    REQUIRE(ledger.first_duplicates() == Numbers{1});
}

TEST_CASE("what was lost at the end shows against the sender's count") {
    SequenceLedger ledger;
    for (std::uint64_t n = 0; n < 130; ++n)
        (void)ledger.record(n);
    REQUIRE(ledger.lost(ledger.frontier()) == 0);
    REQUIRE(ledger.lost(133) == 3);
    REQUIRE(ledger.first_lost(133) == Numbers{130, 131, 132});
}

TEST_CASE("a late number is reordered, not lost") {
    SequenceLedger ledger;
    for (const std::uint64_t n : {0, 2, 3, 1})
        (void)ledger.record(n);
    REQUIRE(ledger.reordered() == 1);
    REQUIRE(ledger.lost(4) == 0);
}

TEST_CASE("a number beyond the capacity is counted, never mistaken") {
    SequenceLedger ledger(128);
    REQUIRE(ledger.record(127) == Arrival::first);
    REQUIRE(ledger.record(128) == Arrival::beyond);
    REQUIRE(ledger.record(~std::uint64_t{0}) == Arrival::beyond);
    REQUIRE(ledger.beyond() == 2);
    REQUIRE(ledger.distinct() == 1);
}

TEST_CASE("only the first few numbers are named, all are counted") {
    SequenceLedger ledger;
    (void)ledger.record(999);
    REQUIRE(ledger.lost(1000) == 999);
    REQUIRE(ledger.first_lost(1000) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
    for (int i = 0; i < 20; ++i)
        (void)ledger.record(999);
    REQUIRE(ledger.duplicates() == 20);
    REQUIRE(ledger.first_duplicates().size() == SequenceLedger::kNamed);
}

TEST_CASE("a shuffled stream with random losses and duplicates is accounted exactly") {
    std::mt19937 random(3);
    Numbers all(20'000);
    std::iota(all.begin(), all.end(), 0);
    Numbers lost, doubled, stream;
    for (const std::uint64_t n : all) {
        const auto dice = random() % 100;
        if (dice == 0) {
            lost.push_back(n);
            continue;
        }
        stream.push_back(n);
        if (dice == 1) {
            stream.push_back(n);
            doubled.push_back(n);
        }
    }
    std::shuffle(stream.begin(), stream.end(), random);
    SequenceLedger ledger;
    for (const std::uint64_t n : stream)
        (void)ledger.record(n);
    REQUIRE(ledger.lost(all.size()) == lost.size());
    REQUIRE(ledger.duplicates() == doubled.size());
    lost.resize(SequenceLedger::kNamed);
    REQUIRE(ledger.first_lost(all.size()) == lost);
}
