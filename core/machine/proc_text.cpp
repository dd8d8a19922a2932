#include "machine/proc_text.hpp"

#include "support/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>

namespace mqcore::machine {
namespace {

constexpr std::string_view kBlanks = " \t\n";

// "/proc/1234/task/1240/status" -> "/proc/PID/task/TID/status": a result file is about a kind of
// process, not about one number.
std::string without_numbers(const std::filesystem::path& file) {
    std::string text;
    bool is_first = true;
    for (const auto& part : file) {
        const std::string name = part.string();
        const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
        if (!text.empty() && text.back() != '/')
            text += '/';
        text += !is_number ? name : is_first ? "PID" : "TID";
        is_first = is_first && !is_number;
    }
    return text;
}

} // namespace

support::Result<std::string> read_text(const std::filesystem::path& file) {
    const auto failed = [&](int number) {
        return support::Error{
            support::ErrorCode::host,
            fmt::format("cannot read {}: {}", without_numbers(file), std::strerror(number)),
            {}};
    };
    const support::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return failed(errno);
    std::string content;
    char block[4096];
    for (;;) {
        const ssize_t got = ::read(fd.get(), block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(errno);
        if (got == 0)
            break;
        content.append(block, static_cast<std::size_t>(got));
    }
    while (!content.empty() && content.back() == '\n')
        content.pop_back();
    return content;
}

std::optional<std::string> line_after(std::string_view text, std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos;
         at = text.find(key, at + 1)) {
        if (at > 0 && text[at - 1] != '\n')
            continue; // in the middle of a line
        std::string_view rest = text.substr(at + key.size());
        rest = rest.substr(0, rest.find('\n'));
        const std::size_t first = rest.find_first_not_of(kBlanks);
        if (first == std::string_view::npos)
            return std::string();
        return std::string(rest.substr(first, rest.find_last_not_of(kBlanks) - first + 1));
    }
    return std::nullopt;
}

std::optional<std::uint64_t> field_after(std::string_view text, std::string_view key) {
    const auto line = line_after(text, key);
    return line ? number_in<std::uint64_t>(*line) : std::nullopt;
}

} // namespace mqcore::machine
