#pragma once
// What a handful of runs can bear: bootstrap confidence intervals of 95 %. Pure and deterministic: the
// resamples come from a fixed seed, so the same runs always give the same interval.
//
// A plain bootstrap of three runs never leaves the span of these three, and would call one difference
// in four real that is none. The resampled distribution is therefore stretched about the estimate by
// what Student's t asks for at this number of runs (stretch_of).

#include <optional>
#include <span>

namespace mqcore::verdict {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kRunsForInterval = 3; // below it there is no interval at all
constexpr double kConfidence = 0.95;

struct Interval {
    double low = 0, high = 0;
    bool contains(double value) const { return low <= value && value <= high; }
    bool operator==(const Interval&) const = default;
};

double median_of(std::span<const double> values); // not empty
double mean_of(std::span<const double> values);   // not empty

// Nothing below kRunsForInterval values.
std::optional<Interval> interval_of_median(std::span<const double> values);
std::optional<Interval> interval_of_mean(std::span<const double> values);
// Of mean(second) - mean(first), two samples that nothing pairs; each is resampled on its own.
std::optional<Interval> interval_of_difference(std::span<const double> first,
                                               std::span<const double> second);

// How much wider than the resampled distribution the interval of n runs is: 2.7 at 3, 1.3 at 10.
double stretch_of(std::size_t runs);

} // namespace mqcore::verdict
