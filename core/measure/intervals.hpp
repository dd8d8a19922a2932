#pragma once
// A run cut into intervals (Schedule::interval_ns), and counters that know in which of them something happened:
// what a rate over the whole window cannot tell (warm-up, stalls, decay). Each phase of the schedule is cut on its
// own, and its last interval is shorter where its length is no multiple, so that no interval lies in two phases and
// the counts of a phase are sums of intervals.
//
// Counting is one subtraction, one compare and one addition on memory that was allocated before; the instant is
// one that the caller has read anyway.

#include "measure/schedule.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace mqcore::measure {

class Intervals {
  public:
    explicit Intervals(const Schedule& schedule) : Intervals(schedule, schedule.interval_ns()) {}
    // length_ns: above 0; a file may be of a time that cut otherwise.
    Intervals(const Schedule& schedule, Nanoseconds length_ns);

    // Of the schedule. One more index, size(), stands for what came after its end.
    std::size_t size() const { return bounds_.size() - 1; }
    // size() + 1 instants: interval i lasts from the i-th up to the next one.
    const std::vector<Nanoseconds>& bounds() const { return bounds_; }
    // Before the schedule's start: the first interval; from its end on: size().
    std::size_t index_of(Nanoseconds at) const;
    std::size_t first_of_window() const { return first_of_window_; }
    std::size_t first_of_drain() const { return first_of_drain_; }

  private:
    std::vector<Nanoseconds> bounds_;
    std::size_t first_of_window_ = 0;
    std::size_t first_of_drain_ = 0;
};

// index_of() for instants that mostly do not leave the interval of the last one; they may go back. One thread.
class IntervalCursor {
  public:
    explicit IntervalCursor(const Schedule& schedule);

    const Intervals& intervals() const { return intervals_; }
    std::size_t at(Nanoseconds now) {
        if (now - begin_ >= length_) [[unlikely]] // also when now lies before begin_
            move_to(now);
        return index_;
    }

  private:
    void move_to(Nanoseconds now);

    Intervals intervals_;
    std::size_t index_ = 0;
    Nanoseconds begin_ = 0;
    Nanoseconds length_ = 0;
};

// Counts by interval, the last one for what came after the schedule's end.
using IntervalList = std::vector<std::uint64_t>;
std::uint64_t sum_of_window(const Intervals& intervals, const IntervalList& counts);
std::uint64_t sum_after_window(const Intervals& intervals, const IntervalList& counts);
// [3, 17, …]: zeros at the end are left out.
support::Json to_json(const IntervalList& counts);

// One thread counts.
class IntervalCounts {
  public:
    explicit IntervalCounts(const Schedule& schedule)
        : cursor_(schedule), counts_(cursor_.intervals().size() + 1) {}

    // The index that was counted at.
    std::size_t add(Nanoseconds now) {
        const std::size_t index = cursor_.at(now);
        ++counts_[index];
        return index;
    }
    const Intervals& intervals() const { return cursor_.intervals(); }
    const IntervalList& counts() const { return counts_; }
    std::uint64_t in_window() const { return sum_of_window(intervals(), counts_); }

  private:
    IntervalCursor cursor_;
    IntervalList counts_;
};

// Any number of threads count.
class SharedIntervalCounts {
  public:
    explicit SharedIntervalCounts(const Schedule& schedule);

    void add(Nanoseconds now) {
        std::size_t index = index_.load(std::memory_order_relaxed);
        if (now < floors_[index] || now >= floors_[index + 1]) [[unlikely]] {
            index = intervals_.index_of(now);
            index_.store(index, std::memory_order_relaxed); // a hint: each call looks for itself
        }
        counts_[index].fetch_add(1, std::memory_order_relaxed);
    }
    // Complete once the threads have ended or been waited for.
    IntervalList counts() const;

  private:
    Intervals intervals_;
    std::vector<Nanoseconds> floors_; // from 0 to the end of time
    std::atomic<std::size_t> index_{0};
    std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
};

} // namespace mqcore::measure
