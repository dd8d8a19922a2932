#include "verdict/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace mqcore::verdict {
namespace {

constexpr std::uint64_t kSeed = 20'260'101;
constexpr double kNormalQuantile = 1.959964; // of 97.5 %

// The generator's own sequence is fixed by the standard, that of its distributions is not.
class Resampler {
  public:
    // Which of `count` values comes next.
    std::size_t draw(std::size_t count) { return random_() % count; }
    double mean_of_drawn(std::span<const double> values) {
        double sum = 0;
        for (std::size_t n = 0; n < values.size(); ++n)
            sum += values[draw(values.size())];
        return sum / static_cast<double>(values.size());
    }

  private:
    std::mt19937_64 random_{kSeed};
};

// All resamples of so many sorted values: which of them each drew, in order, and how many drew just that.
// Two thousand resamples of three values are ten different ones.
struct Resamples {
    std::size_t count; // values
    std::vector<std::uint32_t> places;
    std::vector<std::size_t> times;
    std::span<const std::uint32_t> operator[](std::size_t n) const {
        return std::span(places).subspan(n * count, count);
    }
};

Resamples make_resamples(std::size_t count) {
    Resampler resampler;
    std::vector<std::vector<std::uint32_t>> all(kResamples, std::vector<std::uint32_t>(count));
    for (std::vector<std::uint32_t>& one : all) {
        for (std::uint32_t& place : one)
            place = static_cast<std::uint32_t>(resampler.draw(count));
        std::ranges::sort(one);
    }
    std::ranges::sort(all);
    Resamples made{.count = count, .places = {}, .times = {}};
    for (std::size_t n = 0; n < all.size(); ++n)
        if (n > 0 && all[n] == all[n - 1]) {
            ++made.times.back();
        } else {
            made.places.insert(made.places.end(), all[n].begin(), all[n].end());
            made.times.push_back(1);
        }
    return made;
}

// They depend on the number of values alone, and a report asks for thousands of intervals.
const Resamples& resamples_of(std::size_t count) {
    constexpr std::size_t kKept = 16;
    thread_local std::map<std::size_t, Resamples> known;
    if (known.size() >= kKept && !known.contains(count))
        known.clear();
    const auto found = known.find(count);
    return found != known.end() ? found->second
                                : known.emplace(count, make_resamples(count)).first->second;
}

// A statistic of the sorted values at these places.
using Statistic = double (*)(std::span<const double> sorted, std::span<const std::uint32_t> places);

double mean_at(std::span<const double> sorted, std::span<const std::uint32_t> places) {
    double sum = 0;
    for (const std::uint32_t place : places)
        sum += sorted[place];
    return sum / static_cast<double>(places.size());
}

double median_at(std::span<const double> sorted, std::span<const std::uint32_t> places) {
    const std::size_t middle = places.size() / 2;
    return places.size() % 2 ? sorted[places[middle]]
                             : (sorted[places[middle - 1]] + sorted[places[middle]]) / 2;
}

// A value, and how many resamples have it.
using Resampled = std::vector<std::pair<double, std::size_t>>;

// The value that `before` puts behind `left` resamples. Only so many have to be brought into order.
template <class Before>
double value_behind(Resampled& resampled, std::size_t left, Before before) {
    const auto needed = static_cast<std::ptrdiff_t>(std::min(left + 1, resampled.size()));
    std::ranges::partial_sort(resampled, resampled.begin() + needed, before);
    auto one = resampled.begin();
    for (; left >= one->second; ++one)
        left -= one->second;
    return one->first;
}

Interval stretched(double estimate, Resampled resampled, std::size_t runs) {
    constexpr double kTail = (1 - kConfidence) / 2;
    const auto tail = static_cast<std::size_t>(std::lround(kTail * (kResamples - 1)));
    const double factor = stretch_of(runs);
    const double low = value_behind(resampled, tail, std::ranges::less{});
    const double high = value_behind(resampled, tail, std::ranges::greater{});
    return {estimate + factor * std::min(low - estimate, 0.),
            estimate + factor * std::max(high - estimate, 0.)};
}

std::vector<double> sorted(std::span<const double> values) {
    std::vector<double> copy(values.begin(), values.end());
    std::ranges::sort(copy);
    return copy;
}

std::optional<Interval> interval_of(std::span<const double> values,
                                    double (*estimate)(std::span<const double>),
                                    Statistic statistic) {
    if (values.size() < kRunsForInterval) // of no value at all there is not even an estimate
        return std::nullopt;
    const std::vector<double> in_order = sorted(values);
    const Resamples& resamples = resamples_of(values.size());
    Resampled resampled(resamples.times.size());
    for (std::size_t n = 0; n < resampled.size(); ++n)
        resampled[n] = {statistic(in_order, resamples[n]), resamples.times[n]};
    return stretched(estimate(values), std::move(resampled), values.size());
}

} // namespace

double median_of(std::span<const double> values) {
    const std::vector<double> in_order = sorted(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? in_order[middle] : (in_order[middle - 1] + in_order[middle]) / 2;
}

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

std::optional<Interval> interval_of_median(std::span<const double> values) {
    return interval_of(values, median_of, median_at);
}

std::optional<Interval> interval_of_mean(std::span<const double> values) {
    return interval_of(values, mean_of, mean_at);
}

std::optional<Interval> interval_of_difference(std::span<const double> first,
                                               std::span<const double> second) {
    const std::size_t fewer = std::min(first.size(), second.size());
    if (fewer < kRunsForInterval)
        return std::nullopt;
    Resampler resampler;
    Resampled resampled(kResamples);
    for (auto& [value, times] : resampled) {
        const double from = resampler.mean_of_drawn(first);
        value = resampler.mean_of_drawn(second) - from;
        times = 1;
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
