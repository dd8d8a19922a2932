#include "support/catch.hpp"
#include "verdict/statistics.hpp"

#include <cmath>
#include <random>
#include <vector>

using namespace mqcore::verdict;

namespace {

// Twelve uniform numbers less six: near enough to a normal distribution, and the same on every system.
double bell(std::mt19937_64& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
        sum += static_cast<double>(random() >> 11) * 0x1p-53;
    return sum;
}

std::vector<double> sample(std::mt19937_64& random, std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values)
        value = bell(random);
    return values;
}

constexpr int kTrials = 100;

} // namespace

TEST_CASE("fewer than three runs have no interval") {
    const std::vector<double> two = {1, 2}, three = {1, 2, 3};
    CHECK_FALSE(interval_of_mean(two));
    CHECK_FALSE(interval_of_median(two));
    CHECK_FALSE(interval_of_median({}));
    CHECK_FALSE(interval_of_mean({}));
    CHECK_FALSE(interval_of_difference(three, two));
    CHECK_FALSE(interval_of_difference(two, three));
    CHECK(interval_of_mean(three));
    CHECK(interval_of_difference(three, three));
}

TEST_CASE("the same runs always have the same interval, and it holds the estimate") {
    const std::vector<double> values = {10.2, 9.7, 10.9, 10.1, 9.9};
    const auto interval = interval_of_mean(values);
    REQUIRE(interval);
    CHECK(*interval == *interval_of_mean(values));
    CHECK(interval->contains(mean_of(values)));
    CHECK(interval_of_median(values)->contains(median_of(values)));
}

TEST_CASE("an interval does not depend on the order of the runs") {
    const std::vector<double> one = {10.2, 9.7, 10.9}, other = {10.9, 10.2, 9.7};
    CHECK(interval_of_mean(one)->low == Approx(interval_of_mean(other)->low));
    CHECK(interval_of_mean(one)->high == Approx(interval_of_mean(other)->high));
    CHECK(*interval_of_median(one) == *interval_of_median(other));
}

TEST_CASE("runs that all agree have an interval without width") {
    const std::vector<double> values(4, 7.5);
    CHECK(*interval_of_mean(values) == Interval{7.5, 7.5});
}

TEST_CASE("an interval holds the truth in about 95 of 100 campaigns, even of three runs") {
    for (const std::size_t runs : {3u, 6u}) {
        std::mt19937_64 random(runs);
        int of_mean = 0, of_median = 0, of_difference = 0;
        for (int trial = 0; trial < kTrials; ++trial) {
            const std::vector<double> first = sample(random, runs), second = sample(random, runs);
            of_mean += interval_of_mean(first)->contains(0);
            of_median += interval_of_median(first)->contains(0);
            of_difference += interval_of_difference(first, second)->contains(0);
        }
        INFO(runs << " runs: " << of_mean << ", " << of_median << ", " << of_difference << " of "
                  << kTrials);
        CHECK(of_mean >= kTrials * 90 / 100);
        CHECK(of_median >= kTrials * 88 / 100);
        CHECK(of_difference >= kTrials * 90 / 100);
    }
}

TEST_CASE("the stretch is Student's and vanishes with many runs") {
    // t(0.975) / 1.96 * sqrt(n / (n - 1)) with t of 2, 4 and 9 degrees of freedom from the tables.
    CHECK(stretch_of(3) == Approx(4.303 / 1.96 * std::sqrt(3. / 2)).epsilon(0.035));
    CHECK(stretch_of(5) == Approx(2.776 / 1.96 * std::sqrt(5. / 4)).epsilon(0.005));
    CHECK(stretch_of(10) == Approx(2.262 / 1.96 * std::sqrt(10. / 9)).epsilon(0.002));
    CHECK(stretch_of(1000) == Approx(1).epsilon(0.003));
}
