#include "measure/intervals.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mqcore::measure {
namespace {

constexpr Nanoseconds kEndOfTime = std::numeric_limits<Nanoseconds>::max();

std::uint64_t sum_from(const IntervalList& counts, std::size_t from, std::size_t until) {
    const auto first = counts.begin();
    return std::accumulate(first + static_cast<std::ptrdiff_t>(from),
                           first + static_cast<std::ptrdiff_t>(until), std::uint64_t{0});
}

} // namespace

Intervals::Intervals(const Schedule& schedule, Nanoseconds length_ns) : bounds_{schedule.start_ns} {
    const auto cut_up_to = [&](Nanoseconds end) {
        while (bounds_.back() < end)
            bounds_.push_back(std::min(bounds_.back() + length_ns, end));
        return bounds_.size() - 1;
    };
    first_of_window_ = cut_up_to(schedule.window_start());
    first_of_drain_ = cut_up_to(schedule.window_end());
    cut_up_to(schedule.end());
}

std::size_t Intervals::index_of(Nanoseconds at) const {
    const auto above = std::ranges::upper_bound(bounds_, at);
    return above == bounds_.begin() ? 0 : static_cast<std::size_t>(above - bounds_.begin()) - 1;
}

IntervalCursor::IntervalCursor(const Schedule& schedule) : intervals_(schedule) { move_to(0); }

void IntervalCursor::move_to(Nanoseconds now) {
    const std::vector<Nanoseconds>& bounds = intervals_.bounds();
    index_ = intervals_.index_of(now);
    begin_ = index_ == 0 ? 0 : bounds[index_];
    length_ = (index_ < intervals_.size() ? bounds[index_ + 1] : kEndOfTime) - begin_;
}

std::uint64_t sum_of_window(const Intervals& intervals, const IntervalList& counts) {
    return sum_from(counts, intervals.first_of_window(), intervals.first_of_drain());
}

std::uint64_t sum_after_window(const Intervals& intervals, const IntervalList& counts) {
    return sum_from(counts, intervals.first_of_drain(), counts.size());
}

support::Json to_json(const IntervalList& counts) {
    const auto last = std::find_if(counts.rbegin(), counts.rend(),
                                   [](std::uint64_t count) { return count != 0; });
    return support::JsonArray(counts.begin(), last.base());
}

SharedIntervalCounts::SharedIntervalCounts(const Schedule& schedule)
    : intervals_(schedule), floors_(intervals_.bounds()),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(intervals_.size() + 1)) {
    floors_.front() = 0;
    floors_.push_back(kEndOfTime);
}

IntervalList SharedIntervalCounts::counts() const {
    IntervalList counts(intervals_.size() + 1);
    for (std::size_t index = 0; index < counts.size(); ++index)
        counts[index] = counts_[index].load(std::memory_order_relaxed);
    return counts;
}

} // namespace mqcore::measure
