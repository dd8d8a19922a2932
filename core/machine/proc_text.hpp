#pragma once
// Small readers for the text files of /proc and /sys; for this room's sources only. Each answers
// with a value or with the reason why there is none, in words that fit a result file.

#include "support/result.hpp"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mqcore::machine {

// Content without the trailing newline. The error names the file below /proc or /sys and the cause,
// with process numbers left out.
support::Result<std::string> read_text(const std::filesystem::path& file);

// "VmRSS:     1768 kB" -> 1768 for key "VmRSS:".
std::optional<std::uint64_t> field_after(std::string_view text, std::string_view key);
// The rest of the line after the key, trimmed.
std::optional<std::string> line_after(std::string_view text, std::string_view key);

template <class T>
std::optional<T> number_in(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

} // namespace mqcore::machine
