#include "report/document.hpp"
#include "report/text_plot.hpp"
#include "support/catch.hpp"

#include <fmt/format.h>

using namespace mqcore;
using namespace mqcore::report;

TEST_CASE("bars start at 0 and share one scale") {
    const Bar bars[] = {{"a", 100, "100 /s"}, {"bb", 50, "50 /s"}, {"c", 0, "0 /s"}};
    CHECK(bar_plot(bars, 4) == "  a   ████ 100 /s\n"
                               "  bb  ██ 50 /s\n"
                               "  c    0 /s\n");
    CHECK(bar_plot({}, 4).empty());
}

TEST_CASE("strips share one logarithmic scale and skip what is not known") {
    const char* const marks[] = {"a", "b", "c"};
    const Strip strips[] = {{"x", {1.0, 10.0, 100.0}}, {"y", {10.0, std::nullopt, 10.0}}};
    const auto print = [](double value) { return fmt::format("{}", value); };
    CHECK(strip_plot(strips, marks, print, 9) == "     1     100\n"
                                                 "  x  a───b───c\n"
                                                 "  y  ····c····\n");
    const Strip none[] = {{"x", {std::nullopt}}};
    CHECK(strip_plot(none, marks, print, 9).empty());
}

TEST_CASE("a percentile curve rises to the maximum and never invents a sample") {
    measure::Histogram histogram;
    CHECK(percentile_curve(histogram).empty());
    histogram.record(5);
    REQUIRE(percentile_curve(histogram).size() == 1);
    CHECK(percentile_curve(histogram)[0].quantile == 1);
    CHECK(percentile_curve(histogram)[0].value_ns == 5);
    for (std::uint64_t value = 1; value < 5000; ++value)
        histogram.record(value * value);
    const std::vector<PercentileStep> curve = percentile_curve(histogram);
    CHECK(curve.front().quantile == 0);
    CHECK(curve.back().value_ns == *histogram.max());
    CHECK(curve.back().count == histogram.count());
    for (std::size_t at = 1; at < curve.size(); ++at) {
        CHECK(curve[at].quantile > curve[at - 1].quantile);
        CHECK(curve[at].value_ns >= curve[at - 1].value_ns);
        CHECK(curve[at].count <= histogram.count());
    }
    // Where a step and a metric ask for the same quantile they agree.
    for (const PercentileStep& step : curve)
        CHECK(step.value_ns == *histogram.quantile(step.quantile));
}
