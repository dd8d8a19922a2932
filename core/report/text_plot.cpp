#include "report/text_plot.hpp"

#include "report/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace mqcore::report {
namespace {

template <class Row>
std::size_t name_width(std::span<const Row> rows) {
    std::size_t width = 0;
    for (const Row& row : rows)
        width = std::max(width, display_width(row.name));
    return width;
}

std::string padded_name(const std::string& name, std::size_t width) {
    return "  " + name + std::string(width - display_width(name) + 2, ' ');
}

} // namespace

std::string bar_plot(std::span<const Bar> bars, std::size_t width) {
    // Eighths of a column.
    constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double largest = 0;
    for (const Bar& bar : bars)
        largest = std::max(largest, bar.value);
    const std::size_t names = name_width(bars);
    std::string out;
    for (const Bar& bar : bars) {
        const double share = largest > 0 ? std::max(bar.value, 0.0) / largest : 0;
        const auto eighths =
            static_cast<std::size_t>(std::lround(share * static_cast<double>(8 * width)));
        out += padded_name(bar.name, names);
        for (std::size_t column = 0; column < eighths / 8; ++column)
            out += "█";
        out += fmt::format("{} {}\n", kParts[eighths % 8], bar.text);
    }
    return out;
}

std::string strip_plot(std::span<const Strip> strips, std::span<const char* const> marks,
                       std::string (*print)(double), std::size_t width) {
    double low = 0, high = 0;
    for (const Strip& strip : strips)
        for (const std::optional<double>& value : strip.values)
            if (value && *value > 0) {
                low = low > 0 ? std::min(low, *value) : *value;
                high = std::max(high, *value);
            }
    if (low <= 0)
        return {};
    const double span = std::max(std::log(high / low), 1e-9);
    const std::size_t names = name_width(strips);
    const std::string left = print(low), right = print(high);
    const std::size_t ends = display_width(left) + display_width(right);
    std::string out = padded_name("", names) + left +
                      std::string(width > ends ? width - ends : 1, ' ') + right + '\n';
    for (const Strip& strip : strips) {
        std::vector<const char*> line(width, "·");
        std::size_t first = width, last = 0;
        for (std::size_t at = 0; at < std::min(strip.values.size(), marks.size()); ++at)
            if (const std::optional<double>& value = strip.values[at]; value && *value > 0) {
                const auto column = static_cast<std::size_t>(
                    std::lround(std::log(*value / low) / span * static_cast<double>(width - 1)));
                for (std::size_t between = last + 1; first < width && between < column; ++between)
                    line[between] = "─";
                line[column] = marks[at];
                first = std::min(first, column);
                last = column;
            }
        out += padded_name(strip.name, names) + fmt::format("{}\n", fmt::join(line, ""));
    }
    return out;
}

} // namespace mqcore::report
