#pragma once
// Small plots in text, for a terminal. Knows nothing of benchmarks.

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mqcore::report {

struct Bar {
    std::string name;
    double value = 0;
    std::string text; // the value as it is printed behind the bar
};

// One bar a line, all from 0 on one scale, so that lengths compare.
std::string bar_plot(std::span<const Bar> bars, std::size_t width = 40);

// Values of one name in rising order, by mark.
struct Strip {
    std::string name;
    std::vector<std::optional<double>> values; // one for each mark; nothing: not known
};

// One line a strip on one logarithmic scale, each value with its mark; a mark that falls on an earlier
// one hides it. `print` makes the scale's ends. Empty: no value above 0.
std::string strip_plot(std::span<const Strip> strips, std::span<const char* const> marks,
                       std::string (*print)(double), std::size_t width = 60);

} // namespace mqcore::report
