#include "measure/histogram.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <random>

using mqcore::measure::Histogram;

TEST_CASE("every bucket's bounds map back to the bucket and buckets follow each other") {
    for (std::size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
        REQUIRE(Histogram::bucket_of(Histogram::lowest_of(bucket)) == bucket);
        REQUIRE(Histogram::bucket_of(Histogram::highest_of(bucket)) == bucket);
        REQUIRE(Histogram::highest_of(bucket) + 1 == Histogram::lowest_of(bucket + 1));
    }
    REQUIRE(Histogram::highest_of(Histogram::kBuckets - 1) ==
            (std::uint64_t{1} << Histogram::kValueBits) - 1);
}

TEST_CASE("no bucket is wider than 1.6 % of its value") {
    for (std::size_t bucket = 128; bucket < Histogram::kBuckets; ++bucket) {
        const auto lowest = static_cast<double>(Histogram::lowest_of(bucket));
        const auto highest = static_cast<double>(Histogram::highest_of(bucket));
        REQUIRE((highest - lowest) / lowest <= 0.016);
    }
}

TEST_CASE("quantiles match a sorted sample within one bucket") {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> distribution(12.0, 1.5);
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 50'000; ++i) {
        values.push_back(static_cast<std::uint64_t>(distribution(random)));
        histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double quantile : {0.0, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = std::max<std::size_t>(
            1, static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(values.size()))));
        const std::uint64_t exact = values[rank - 1];
        REQUIRE(Histogram::bucket_of(*histogram.quantile(quantile)) == Histogram::bucket_of(exact));
    }
    REQUIRE(*histogram.max() == values.back());
    REQUIRE(*histogram.min() == values.front());
}

TEST_CASE("a histogram without values has no minimum, maximum, mean or quantile") {
    const Histogram histogram;
    REQUIRE_FALSE(histogram.min());
    REQUIRE_FALSE(histogram.max());
    REQUIRE_FALSE(histogram.mean());
    REQUIRE_FALSE(histogram.quantile(0.5));
}

TEST_CASE("a value beyond the range is counted apart, never clamped into a bucket") {
    Histogram histogram;
    histogram.record(std::uint64_t{1} << Histogram::kValueBits);
    REQUIRE(histogram.count() == 0);
    REQUIRE(histogram.too_large() == 1);
    histogram.record((std::uint64_t{1} << Histogram::kValueBits) - 1);
    REQUIRE(histogram.count() == 1);
}

TEST_CASE("merging equals recording everything in one") {
    std::mt19937_64 random(11);
    Histogram one, a, b;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t value = random() >> 30;
        one.record(value);
        (i % 3 ? a : b).record(value);
    }
    a.merge(b);
    REQUIRE(a.to_json() == one.to_json());
}

TEST_CASE("the JSON form reads back as the same histogram") {
    Histogram histogram;
    for (std::uint64_t value = 1; value < 3'000'000'000; value = value * 3 + 1)
        histogram.record(value);
    const auto back = Histogram::from_json(histogram.to_json());
    REQUIRE(back);
    REQUIRE(back->to_json() == histogram.to_json());
}

TEST_CASE("a JSON histogram that does not add up is refused") {
    using mqcore::support::parse_json;
    const char* broken[] = {
        R"({"sub_bits":4,"count":0,"buckets":[]})",
        R"({"sub_bits":6,"count":2,"buckets":[[3,1]]})",
        R"({"sub_bits":6,"count":1,"buckets":[[99999,1]]})",
        R"({"sub_bits":6,"count":1,"buckets":[[-1,1]]})",
        R"({"sub_bits":6,"count":1,"buckets":[3]})",
        R"({"sub_bits":6,"count":1})",
        R"([])",
        // The outermost buckets hold the smallest and the largest value.
        R"({"sub_bits":6,"count":2,"sum_ns":10,"min_ns":4,"max_ns":7,"buckets":[[3,1],[7,1]]})",
        R"({"sub_bits":6,"count":2,"sum_ns":10,"min_ns":3,"max_ns":6,"buckets":[[3,1],[7,1]]})",
        R"({"sub_bits":6,"count":2,"sum_ns":11,"min_ns":3,"max_ns":7,"buckets":[[3,1],[7,1]]})",
    };
    for (const char* text : broken)
        REQUIRE_FALSE(Histogram::from_json(*parse_json(text, "test")));
}
