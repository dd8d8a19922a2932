#pragma once
// Quantities as people write them in a scenario: "16KiB", "2000/s", "500ms". The error of a refused
// text says what would be right. One space before the unit is allowed; the spelling of a unit is
// exact, because "MB" and "Mb" are different things.

#include "support/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mqcore::support {

// "256B", "64kB" (1000), "16KiB" (1024), "1.5MiB": whole bytes.
Result<std::uint64_t> parse_bytes(std::string_view text);
// "2000/s", "0.5/s", "30/min": events per second.
Result<double> parse_rate(std::string_view text);
// "2s", "500ms", "250us", "1.5min": seconds.
Result<double> parse_seconds(std::string_view text);
// "2%", "0.5%": a share, 0.02 and 0.005.
Result<double> parse_percent(std::string_view text);

// The shortest exact spelling: "256B", "16KiB", "1MiB", "100kB".
std::string print_bytes(std::uint64_t bytes);
// "2000/s", "0.5/s"
std::string print_rate(double rate);

} // namespace mqcore::support
