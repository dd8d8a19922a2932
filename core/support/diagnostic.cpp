#include "support/diagnostic.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace mqcore::support {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD"; // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";    // U+2026
constexpr std::size_t kExcerptColumns = 120;              // longest excerpt of a line
constexpr std::size_t kExcerptLead = 60;                  // of it before the caret

// One code point of a line as it is shown.
struct Glyph {
    std::string_view text;
    std::size_t width = 1; // terminal cells
};

std::vector<Glyph> glyphs_of(std::string_view line);
std::string printable(std::string_view text);
std::string excerpt_of(const Diagnostic& diagnostic, std::size_t gutter);

} // namespace

std::string_view line_of(std::string_view content, std::uint32_t line) {
    if (line == 0)
        return {};
    for (std::uint32_t current = 1; current < line; ++current) {
        const std::size_t end = content.find('\n');
        if (end == std::string_view::npos)
            return {};
        content.remove_prefix(end + 1);
    }
    content = content.substr(0, content.find('\n'));
    if (content.ends_with('\r'))
        content.remove_suffix(1);
    return content;
}

std::string format_diagnostic(const Diagnostic& diagnostic) {
    const bool has_place = diagnostic.line > 0;
    std::string out = diagnostic.file;
    if (has_place)
        out += fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
    out += fmt::format(": {}: {}\n", diagnostic.severity == Severity::error ? "error" : "warning",
                       printable(diagnostic.message));
    const std::size_t gutter = has_place ? 3 + fmt::formatted_size("{}", diagnostic.line) : 2;
    if (has_place)
        out += excerpt_of(diagnostic, gutter);
    if (!diagnostic.hint.empty())
        out += fmt::format("{:{}}= {}\n", "", gutter, printable(diagnostic.hint));
    return out;
}

std::string format_diagnostics(std::span<const Diagnostic> diagnostics) {
    std::string out;
    for (const Diagnostic& diagnostic : diagnostics)
        out += format_diagnostic(diagnostic);
    return out;
}

bool has_error(std::span<const Diagnostic> diagnostics) {
    return std::ranges::any_of(
        diagnostics, [](const Diagnostic& found) { return found.severity == Severity::error; });
}

void DiagnosticList::error(SourceRange where, std::string message, std::string hint) {
    add(Severity::error, where, std::move(message), std::move(hint));
}

void DiagnosticList::warning(SourceRange where, std::string message, std::string hint) {
    add(Severity::warning, where, std::move(message), std::move(hint));
}

std::vector<Diagnostic> DiagnosticList::in_file_order() const {
    std::vector<Diagnostic> sorted = found_;
    std::ranges::stable_sort(sorted, [](const Diagnostic& a, const Diagnostic& b) {
        return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    // Several tables made from one say the same about it.
    const auto repeated = std::ranges::unique(sorted, [](const Diagnostic& a, const Diagnostic& b) {
        return a.line == b.line && a.column == b.column && a.message == b.message;
    });
    sorted.erase(repeated.begin(), repeated.end());
    return sorted;
}

void DiagnosticList::add(Severity severity, SourceRange where, std::string message,
                         std::string hint) {
    found_.push_back({.file = source_.name,
                      .line = where.line,
                      .column = where.column,
                      .length = where.length,
                      .severity = severity,
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .source_line = std::string(line_of(source_.content, where.line))});
}

namespace {

// Cells that a terminal gives a code point: the blocks of East Asian wide characters and emoji take
// two, combining marks, joiners and variation selectors none. The C library's wcwidth() depends on
// the locale of the process and answers -1 for all of this in "C".
std::size_t width_of(char32_t point) {
    struct Block {
        char32_t first, last;
    };
    constexpr Block kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                               {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                               {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                               {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    constexpr Block kNone[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                               {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
    const auto holds = [point](const Block& block) {
        return point >= block.first && point <= block.last;
    };
    if (std::ranges::any_of(kNone, holds))
        return 0;
    return std::ranges::any_of(kWide, holds) ? 2 : 1;
}

bool is_control(char32_t point) {
    return (point < 0x20 && point != '\t') || (point >= 0x7F && point < 0xA0);
}

// The first code point of a text; an ill-formed byte stands for itself as U+FFFD.
std::pair<char32_t, std::size_t> decode(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length > text.size() || !is_utf8(text.substr(0, length)))
        return {0xFFFD, 1};
    char32_t point = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i)
        point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    return {point, length};
}

std::vector<Glyph> glyphs_of(std::string_view line) {
    std::vector<Glyph> glyphs;
    while (!line.empty()) {
        const auto [point, length] = decode(line);
        const bool is_shown = point != 0xFFFD && !is_control(point);
        glyphs.push_back({is_shown ? line.substr(0, length) : kReplacement, width_of(point)});
        line.remove_prefix(length);
    }
    return glyphs;
}

// A message quotes what stands in a file; a terminal must not obey it.
std::string printable(std::string_view text) {
    std::string out;
    for (const Glyph& glyph : glyphs_of(text))
        out += glyph.text;
    return out;
}

std::string excerpt_of(const Diagnostic& diagnostic, std::size_t gutter) {
    const std::vector<Glyph> glyphs = glyphs_of(diagnostic.source_line);
    // The end of a line is a place too: something is missing there.
    const std::size_t caret =
        std::min<std::size_t>(glyphs.size(), diagnostic.column > 0 ? diagnostic.column - 1 : 0);
    std::size_t first = 0;
    std::size_t last = glyphs.size();
    if (last > kExcerptColumns) {
        first = caret > kExcerptLead ? caret - kExcerptLead : 0;
        last = std::min(last, first + kExcerptColumns);
    }
    std::string shown;
    std::string marks;
    if (first > 0) {
        shown += kEllipsis;
        marks += ' ';
    }
    for (std::size_t i = first; i < last; ++i) {
        shown += glyphs[i].text;
        if (i < caret)
            marks += glyphs[i].text == "\t" ? "\t" : std::string(glyphs[i].width, ' ');
        else if (i == caret)
            marks += '^' + std::string(glyphs[i].width > 1 ? glyphs[i].width - 1 : 0, '~');
        else if (i < caret + diagnostic.length)
            marks += std::string(glyphs[i].width, '~');
    }
    if (caret == last)
        marks += '^';
    if (last < glyphs.size())
        shown += kEllipsis;
    const std::string_view space = shown.empty() ? "" : " ";
    return fmt::format("  {} |{}{}\n{:{}}| {}\n", diagnostic.line, space, shown, "", gutter, marks);
}

} // namespace
} // namespace mqcore::support
