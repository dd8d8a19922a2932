#include "measure/intervals.hpp"
#include "support/catch.hpp"

#include <numeric>
#include <thread>

using namespace mqcore::measure;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;
using mqcore::support::print_json;

namespace {

// Half a second of warm-up, ten seconds of window, 2.5 of drain: one interval of warm-up, ten, and three.
constexpr Schedule kSchedule{.start_ns = 7 * kSecond,
                             .warmup_ns = kSecond / 2,
                             .window_ns = 10 * kSecond,
                             .drain_ns = 5 * kSecond / 2};

// Instants from before the start to after the end, around every bound.
std::vector<Nanoseconds> instants(const Intervals& intervals) {
    std::vector<Nanoseconds> all{0};
    for (const Nanoseconds bound : intervals.bounds())
        for (const Nanoseconds at : {bound - 1, bound, bound + 1, bound + 30 * kMillisecond})
            all.push_back(at);
    all.push_back(kSchedule.end() + 3600 * kSecond);
    return all;
}

} // namespace

TEST_CASE("a run is cut into seconds, one with a short window into tenths") {
    CHECK(kSchedule.interval_ns() == kSecond);
    CHECK(Schedule{.window_ns = 5 * kSecond}.interval_ns() == kSecond);
    CHECK(Schedule{.window_ns = 2 * kSecond}.interval_ns() == kSecond / 10);
    CHECK(to_json(kSchedule).at("interval_ns") == kSecond);
}

TEST_CASE("no interval lies in two phases; what a phase leaves over is a shorter one") {
    const Intervals intervals(kSchedule);
    CHECK(intervals.size() == 14);
    CHECK(intervals.first_of_window() == 1);
    CHECK(intervals.first_of_drain() == 11);
    CHECK(intervals.bounds()[intervals.first_of_window()] == kSchedule.window_start());
    CHECK(intervals.bounds()[intervals.first_of_drain()] == kSchedule.window_end());
    CHECK(intervals.bounds().back() == kSchedule.end());
    CHECK(intervals.bounds()[13] - intervals.bounds()[12] == kSecond);
    CHECK(intervals.bounds()[14] - intervals.bounds()[13] == kSecond / 2);
}

TEST_CASE("a phase without length has no interval") {
    const Intervals intervals({.start_ns = 5, .warmup_ns = 0, .window_ns = 60, .drain_ns = 0}, 20);
    CHECK(intervals.size() == 3);
    CHECK(intervals.first_of_window() == 0);
    CHECK(intervals.first_of_drain() == 3);
}

TEST_CASE("before the start is the first interval, after the end is one more") {
    const Intervals intervals(kSchedule);
    CHECK(intervals.index_of(0) == 0);
    CHECK(intervals.index_of(kSchedule.window_start() - 1) == 0);
    CHECK(intervals.index_of(kSchedule.window_start()) == 1);
    CHECK(intervals.index_of(kSchedule.end() - 1) == 13);
    CHECK(intervals.index_of(kSchedule.end()) == 14);
    CHECK(intervals.index_of(kSchedule.end() + 3600 * kSecond) == 14);
}

TEST_CASE("a cursor finds what a search finds, forwards, backwards and in leaps") {
    IntervalCursor cursor(kSchedule);
    const Intervals& intervals = cursor.intervals();
    std::vector<Nanoseconds> all = instants(intervals);
    const std::size_t count = all.size();
    for (std::size_t step = 0; step < count; ++step)
        all.push_back(all[step * 17 % count]);
    for (std::size_t step = count; step-- > 0;)
        all.push_back(all[step]);
    for (const Nanoseconds at : all) {
        INFO(at);
        REQUIRE(cursor.at(at) == intervals.index_of(at));
    }
}

TEST_CASE("the counts of a phase are sums of intervals, as the schedule has it") {
    IntervalCounts counts(kSchedule);
    std::uint64_t in_window = 0, after_window = 0, all = 0;
    for (const Nanoseconds at : instants(counts.intervals())) {
        counts.add(at);
        in_window += kSchedule.in_window(at);
        after_window += at >= kSchedule.window_end();
        ++all;
    }
    CHECK(counts.in_window() == in_window);
    CHECK(sum_after_window(counts.intervals(), counts.counts()) == after_window);
    CHECK(std::accumulate(counts.counts().begin(), counts.counts().end(), std::uint64_t{0}) == all);
}

TEST_CASE("a second without a message is an empty interval") {
    IntervalCounts counts(kSchedule);
    for (Nanoseconds at = kSchedule.start_ns; at < kSchedule.window_end(); at += kMillisecond)
        if (at < kSchedule.window_start() + 3 * kSecond ||
            at >= kSchedule.window_start() + 4 * kSecond)
            counts.add(at);
    CHECK(print_json(to_json(counts.counts())) ==
          "[500,1000,1000,1000,0,1000,1000,1000,1000,1000,1000]");
}

TEST_CASE("many threads count together, each at instants of its own") {
    SharedIntervalCounts shared(kSchedule);
    const std::vector<Nanoseconds> all = instants(Intervals(kSchedule));
    constexpr std::size_t kThreads = 3;
    {
        std::vector<std::jthread> threads;
        for (std::size_t thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&, thread] {
                for (std::size_t step = 0; step < all.size(); ++step)
                    shared.add(all[(step * 7 + thread * 13) % all.size()]);
            });
    }
    IntervalCounts alone(kSchedule);
    for (std::size_t thread = 0; thread < kThreads; ++thread)
        for (std::size_t step = 0; step < all.size(); ++step)
            alone.add(all[(step * 7 + thread * 13) % all.size()]);
    CHECK(shared.counts() == alone.counts());
}

TEST_CASE("zeros at the end are left out, others are not") {
    CHECK(print_json(to_json(IntervalList{0, 3, 0, 1, 0, 0})) == "[0,3,0,1]");
    CHECK(print_json(to_json(IntervalList{0, 0})) == "[]");
}
