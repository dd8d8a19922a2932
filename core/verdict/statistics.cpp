#include "verdict/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace mqcore::verdict {
namespace {

constexpr std::uint64_t kSeed = 20'260'101;
constexpr double kNormalQuantile = 1.959964; // of 97.5 %

// Of values that it may reorder.
using Statistic = double (*)(std::span<double>);

double mean_in(std::span<double> values) {
    return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

double median_in(std::span<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double statistic_of(std::span<const double> values, Statistic statistic) {
    std::vector<double> copy(values.begin(), values.end());
    return statistic(copy);
}

// The generator's own sequence is fixed by the standard, that of its distributions is not.
class Resampler {
  public:
    std::span<double> draw(std::span<const double> values) {
        drawn_.resize(values.size());
        for (double& value : drawn_)
            value = values[random_() % values.size()];
        return drawn_;
    }

  private:
    std::mt19937_64 random_{kSeed};
    std::vector<double> drawn_;
};

Interval stretched(double estimate, std::vector<double> resampled, std::size_t runs) {
    std::ranges::sort(resampled);
    const auto at = [&](double share) {
        return resampled[static_cast<std::size_t>(
            std::lround(share * static_cast<double>(resampled.size() - 1)))];
    };
    const double tail = (1 - kConfidence) / 2;
    const double factor = stretch_of(runs);
    return {estimate + factor * std::min(at(tail) - estimate, 0.),
            estimate + factor * std::max(at(1 - tail) - estimate, 0.)};
}

std::optional<Interval> interval_of(std::span<const double> values, Statistic statistic) {
    if (values.size() < kRunsForInterval)
        return std::nullopt;
    Resampler resampler;
    std::vector<double> resampled(kResamples);
    for (double& one : resampled)
        one = statistic(resampler.draw(values));
    return stretched(statistic_of(values, statistic), std::move(resampled), values.size());
}

} // namespace

double median_of(std::span<const double> values) { return statistic_of(values, median_in); }
double mean_of(std::span<const double> values) { return statistic_of(values, mean_in); }

std::optional<Interval> interval_of_median(std::span<const double> values) {
    return interval_of(values, median_in);
}

std::optional<Interval> interval_of_mean(std::span<const double> values) {
    return interval_of(values, mean_in);
}

std::optional<Interval> interval_of_difference(std::span<const double> first,
                                               std::span<const double> second) {
    const std::size_t fewer = std::min(first.size(), second.size());
    if (fewer < kRunsForInterval)
        return std::nullopt;
    Resampler resampler;
    std::vector<double> resampled(kResamples);
    for (double& one : resampled) {
        const double from = mean_in(resampler.draw(first));
        one = mean_in(resampler.draw(second)) - from;
    }
    return stretched(mean_of(second) - mean_of(first), std::move(resampled), fewer);
}

double stretch_of(std::size_t runs) {
    // Student's quantile by its expansion in 1 / degrees of freedom (3 % below the tables at 2, within 1 % from 3 on),
    // and sqrt(n / (n - 1)) because a resample varies as if n runs were the whole population.
    const double z = kNormalQuantile;
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    const double n = static_cast<double>(runs);
    const double d = n - 1;
    const double t = z + (z3 + z) / (4 * d) + (5 * z5 + 16 * z3 + 3 * z) / (96 * d * d) +
                     (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * d * d * d);
    return t / z * std::sqrt(n / (n - 1));
}

} // namespace mqcore::verdict
