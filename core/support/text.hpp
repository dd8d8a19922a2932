#pragma once
// Text: near misses, quantities, replacement.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mqcore::support {

// The candidate nearest to a mistyped word (edit distance with transpositions, capitals aside, at
// most a third of the word, at least one), or nothing when none is close enough to help.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// The text itself, or its start and U+2026 when it has more than `most` characters: a message
// quotes what a person wrote, and that may be a megabyte.
std::string brief(std::string_view text, std::size_t most = 64);

// Every `what`, from left to right, as `by`; what came in is not looked at again. An empty `what` is nowhere.
std::string replace_all(std::string text, std::string_view what, std::string_view by);

// "256 B", "16 KiB", "1 MiB"; exact, never rounded: 20000 stays "20000 B".
std::string format_bytes(std::uint64_t bytes);
// 12345678 -> "12,345,678"
std::string format_count(std::uint64_t count);
// "850 ns", "12.3 µs", "4.56 ms", "1.20 s"
std::string format_duration(double nanoseconds);

// True when the text is well-formed UTF-8 (no overlong form, no surrogate, at most U+10FFFF).
// `bad_at` is the byte of the first fault.
bool is_utf8(std::string_view text, std::size_t* bad_at = nullptr);

} // namespace mqcore::support
