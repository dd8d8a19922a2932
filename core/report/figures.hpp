#pragma once
// Numbers as the tables show them.

#include "verdict/statistics.hpp"
#include "verdict/table.hpp"

#include <string>

namespace mqcore::report {

// Three digits that mean something: 0.04, 4.21, 42.1, 421, 4,210.
std::string short_number(double value);
// With its unit, except per second: "4,210", "12.3 µs", "8.8 MiB", "30 %".
std::string formatted(double value, verdict::Unit unit);
// A ratio as a difference: "+3.1 % (+1.2 % to +5.0 %)".
std::string percent_of(double ratio, const verdict::Interval& interval);

} // namespace mqcore::report
