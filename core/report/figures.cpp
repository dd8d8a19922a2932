#include "report/figures.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

namespace mqcore::report {

std::string short_number(double value) {
    const double size = value < 0 ? -value : value;
    if (size >= 999.5)
        return support::format_count(static_cast<std::uint64_t>(size + 0.5));
    return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string formatted(double value, verdict::Unit unit) {
    switch (unit) {
    case verdict::Unit::per_second:
        return short_number(value);
    case verdict::Unit::microseconds:
        return support::format_duration(value * 1e3);
    case verdict::Unit::milliseconds:
        return support::format_duration(value * 1e6);
    case verdict::Unit::percent:
        return fmt::format("{:.{}f} %", value, value < 9.95 ? 1 : 0);
    case verdict::Unit::kibibytes:
        return fmt::format("{:.1f} MiB", value / 1024);
    case verdict::Unit::count:
        return value == static_cast<double>(static_cast<std::uint64_t>(value))
                   ? support::format_count(static_cast<std::uint64_t>(value))
                   : short_number(value);
    }
    return {};
}

std::string percent_of(double ratio, const verdict::Interval& interval) {
    const auto percent = [](double value) { return fmt::format("{:+.1f} %", 100 * (value - 1)); };
    return fmt::format("{} ({} to {})", percent(ratio), percent(interval.low),
                       percent(interval.high));
}

} // namespace mqcore::report
