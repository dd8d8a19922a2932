#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <vector>

namespace mqcore::support {
namespace {

constexpr std::size_t kLongestWord = 64; // nobody mistypes a longer one; the cost is quadratic

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
        return static_cast<char>(c < 0x80 ? std::tolower(c) : c);
    });
    return lower;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j)
        cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

} // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    if (word.size() > kLongestWord)
        return std::nullopt;
    const std::string wanted = in_lower_case(word);
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::optional<std::string> best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates)
        if (const std::size_t distance = edit_distance(wanted, in_lower_case(candidate));
            distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    return best;
}

std::string brief(std::string_view text, std::size_t most) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool starts_one = (static_cast<unsigned char>(text[at]) & 0xC0u) != 0x80u;
        if (starts_one && characters++ == most)
            return std::string(text.substr(0, at)) + "\xE2\x80\xA6";
    }
    return std::string(text);
}

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;
         at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t kKib = 1024;
    constexpr std::uint64_t kMib = kKib * kKib;
    if (bytes >= kMib && bytes % kMib == 0)
        return fmt::format("{} MiB", bytes / kMib);
    if (bytes >= kKib && bytes % kKib == 0)
        return fmt::format("{} KiB", bytes / kKib);
    return fmt::format("{} B", bytes);
}

std::string format_count(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, ",");
    return text;
}

std::string format_duration(double nanoseconds) {
    if (nanoseconds < 1e3)
        return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 1e6)
        return fmt::format("{:.1f} µs", nanoseconds / 1e3);
    if (nanoseconds < 1e9)
        return fmt::format("{:.2f} ms", nanoseconds / 1e6);
    return fmt::format("{:.2f} s", nanoseconds / 1e9);
}

// Unicode 15, section 3.9, table 3-7: the well-formed byte sequences.
bool is_utf8(std::string_view text, std::size_t* bad_at) {
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t at) {
            return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
        };
        const auto continues = [&](std::size_t at) { return (byte(at) & 0xC0u) == 0x80u; };
        const unsigned first = byte(i);
        std::size_t length = 0;
        if (first < 0x80)
            length = 1;
        else if (first >= 0xC2 && first <= 0xDF)
            length = continues(i + 1) ? 2 : 0;
        else if (first >= 0xE0 && first <= 0xEF) {
            const bool second = continues(i + 1) && !(first == 0xE0 && byte(i + 1) < 0xA0) &&
                                !(first == 0xED && byte(i + 1) > 0x9F);
            length = second && continues(i + 2) ? 3 : 0;
        } else if (first >= 0xF0 && first <= 0xF4) {
            const bool second = continues(i + 1) && !(first == 0xF0 && byte(i + 1) < 0x90) &&
                                !(first == 0xF4 && byte(i + 1) > 0x8F);
            length = second && continues(i + 2) && continues(i + 3) ? 4 : 0;
        }
        if (length == 0) {
            if (bad_at)
                *bad_at = i;
            return false;
        }
        i += length;
    }
    return true;
}

} // namespace mqcore::support
