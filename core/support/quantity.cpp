#include "support/quantity.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <span>

namespace mqcore::support {
namespace {

constexpr std::size_t kLongestGuess = 40; // a longer text is no mistyped quantity

struct Unit {
    std::string_view name;
    double factor;
};

constexpr Unit kByteUnits[] = {{"B", 1},
                               {"kB", 1e3},
                               {"KiB", 1024},
                               {"MB", 1e6},
                               {"MiB", 1024 * 1024},
                               {"GB", 1e9},
                               {"GiB", 1024. * 1024 * 1024}};
constexpr Unit kRateUnits[] = {{"/s", 1}, {"/min", 1. / 60}};
constexpr Unit kTimeUnits[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6},
                               {"ns", 1e-9}, {"min", 60},  {"h", 3600}};

constexpr Unit kShareUnits[] = {{"%", 0.01}};

// What a refused quantity should have looked like.
struct Expected {
    std::string_view what;    // "a size"
    std::string_view example; // "\"256B\" or \"16KiB\""
};

Result<double> parse(std::string_view text, std::span<const Unit> units, const Expected& expected);

} // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
    const Result<double> bytes = parse(text, kByteUnits, {"a size", "\"256B\" or \"16KiB\""});
    if (!bytes)
        return bytes.error();
    // Above 2^53 a double no longer tells whole from fractional; nothing here is nearly so large.
    if (*bytes != std::floor(*bytes) || *bytes > 9e15)
        return Error{ErrorCode::wrong_input, fmt::format("\"{}\" is not a size", brief(text)),
                     "a size is a whole number of bytes"};
    return static_cast<std::uint64_t>(*bytes);
}

Result<double> parse_rate(std::string_view text) {
    return parse(text, kRateUnits, {"a rate", "\"2000/s\""});
}

Result<double> parse_seconds(std::string_view text) {
    return parse(text, kTimeUnits, {"a time", "\"2s\" or \"500ms\""});
}

Result<double> parse_percent(std::string_view text) {
    return parse(text, kShareUnits, {"a share", "\"2%\""});
}

std::string print_bytes(std::uint64_t bytes) {
    constexpr std::pair<std::uint64_t, std::string_view> kUnits[] = {
        {1024 * 1024, "MiB"}, {1'000'000, "MB"}, {1024, "KiB"}, {1000, "kB"}};
    for (const auto& [factor, name] : kUnits)
        if (bytes > 0 && bytes % factor == 0)
            return fmt::format("{}{}", bytes / factor, name);
    return fmt::format("{}B", bytes);
}

std::string print_rate(double rate) { return fmt::format("{}/s", rate); }

namespace {

// The number at the start of a text and what follows it. Signs, exponents and hexadecimal are left
// out on purpose: no person writes a size so.
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view digits = text.substr(0, end);
    double number = 0;
    const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(),
                                                number, std::chars_format::fixed);
    if (failed != std::errc() || stop != digits.data() + digits.size())
        return std::nullopt;
    std::string_view rest = text.substr(end);
    if (rest.starts_with(' '))
        rest.remove_prefix(1);
    return std::pair(number, rest);
}

std::string names_of(std::span<const Unit> units) {
    std::string names;
    for (const Unit& unit : units)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
    return names;
}

bool starts_alike(std::string_view a, std::string_view b) {
    const std::size_t common = std::min(a.size(), b.size());
    return common > 0 && std::ranges::equal(
                             a.substr(0, common), b.substr(0, common), {},
                             [](unsigned char c) { return std::tolower(c); },
                             [](unsigned char c) { return std::tolower(c); });
}

// What the writer most likely meant: "16k" and "16kib", "2000/sec" and "2000 msgs/s", "2,000/s".
std::string likely_meaning(std::string_view text, std::span<const Unit> units) {
    std::string plain;
    if (text.size() > kLongestGuess)
        return {};
    for (const char c : text)
        if (c != ',' && c != '_' && c != '\'')
            plain += c;
    const auto split = split_number(plain);
    if (!split)
        return {};
    const std::string number = plain.substr(0, plain.find_first_not_of("0123456789."));
    const std::string_view written = split->second;
    std::string guesses;
    for (const Unit& unit : units) {
        const bool is_per_time = unit.name.starts_with('/') && written.ends_with(unit.name);
        const bool is_likely = written.empty() ? &unit == units.data()
                                               : is_per_time || unit.name == written ||
                                                     starts_alike(unit.name, written);
        if (is_likely)
            guesses += fmt::format("{}\"{}{}\"", guesses.empty() ? "" : " or ", number, unit.name);
    }
    return guesses;
}

Result<double> parse(std::string_view text, std::span<const Unit> units, const Expected& expected) {
    if (const auto split = split_number(text))
        for (const Unit& unit : units)
            if (unit.name == split->second)
                return split->first * unit.factor;
    const std::string guess = likely_meaning(text, units);
    return Error{ErrorCode::wrong_input,
                 fmt::format("\"{}\" is not {}", brief(text), expected.what),
                 fmt::format("{}  (units: {})",
                             guess.empty() ? fmt::format("write it like {}", expected.example)
                                           : fmt::format("did you mean {}?", guess),
                             names_of(units))};
}

} // namespace
} // namespace mqcore::support
