#include "session/cpu_series.hpp"

#include "support/catch.hpp"

using namespace mqcore::session;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;
using mqcore::support::Nanoseconds;
using mqcore::support::print_json;

namespace {

// Bounds at 10 (start), 11 (window), 12 ... 17 s (its end), 18 s (end).
constexpr mqcore::measure::Schedule kSchedule{
    .start_ns = 10 * kSecond, .warmup_ns = kSecond, .window_ns = 6 * kSecond, .drain_ns = kSecond};

std::string text_of(const CpuSeries& series, const char* key) {
    return print_json(series.to_json().at(key));
}

} // namespace

TEST_CASE("bounds come one after the other, up to the instant that is waited for") {
    CpuSeries series(kSchedule);
    CHECK_FALSE(series.next(10 * kSecond - 1));
    for (Nanoseconds bound = 10 * kSecond; bound <= 18 * kSecond; bound += kSecond) {
        REQUIRE(series.next(20 * kSecond) == bound);
        CHECK(series.next(bound) == bound);
        CHECK_FALSE(series.next(bound - 1));
        series.add(bound, {}, {});
    }
    CHECK_FALSE(series.next(20 * kSecond));
}

TEST_CASE(
    "use of an interval is what was read between its bounds, and nothing is lost to rounding") {
    CpuSeries series(kSchedule);
    Nanoseconds client = 5'000'000'999;
    for (Nanoseconds bound = 10 * kSecond; bound <= 18 * kSecond; bound += kSecond) {
        series.add(bound + 40'500, client, client / 2);
        client += 1'000'700; // 1000.7 µs
    }
    CHECK(text_of(series, "late_us") == "[40,40,40,40,40,40,40,40,40]");
    CHECK(text_of(series, "client_cpu_us") == "[1001,1001,1001,1000,1001,1001,1000,1001]");
    std::uint64_t sum = 0;
    const mqcore::support::Json json = series.to_json();
    for (const auto& use : json.at("client_cpu_us").as_array())
        sum += use.to_number<std::uint64_t>();
    CHECK(sum == (client - 1'000'700) / 1000 - 5'000'000);
}

TEST_CASE("bounds that had gone by are left out, and the next use is of all of them") {
    CpuSeries series(kSchedule);
    series.add(10 * kSecond, 0, 0);
    series.add(11 * kSecond, 10 * kMillisecond, 1);
    // It wakes at 14.2 s, waiting for 15 s: 12 s and 13 s are gone, 14 s is read late.
    const Nanoseconds now = 14 * kSecond + 200 * kMillisecond;
    CHECK(series.has_gone_by(now, 15 * kSecond));
    series.leave_out();
    CHECK(series.has_gone_by(now, 15 * kSecond));
    series.leave_out();
    CHECK_FALSE(series.has_gone_by(now, 15 * kSecond));
    series.add(now, 40 * kMillisecond, 2);
    CHECK(text_of(series, "late_us") == "[0,0,null,null,200000]");
    CHECK(text_of(series, "client_cpu_us") == "[10000,null,null,30000]");
}

TEST_CASE("the bound that is waited for is read, however late") {
    CpuSeries series(kSchedule);
    const Nanoseconds now = 30 * kSecond;
    while (series.next(11 * kSecond) && series.has_gone_by(now, 11 * kSecond))
        series.leave_out();
    CHECK(series.next(11 * kSecond) == 11 * kSecond);
    CHECK_FALSE(series.has_gone_by(now, 11 * kSecond));
}

TEST_CASE("a party whose clock cannot be read has no series") {
    CpuSeries series(kSchedule);
    series.add(10 * kSecond, 0, {});
    series.add(11 * kSecond, 3 * kMillisecond, {});
    CHECK(text_of(series, "client_cpu_us") == "[3000]");
    CHECK(text_of(series, "broker_cpu_us") == "null");
}
