#include "report/text_table.hpp"

#include <algorithm>
#include <cstdint>

namespace mqcore::report {
namespace {

struct Range {
    char32_t first, last;
};

// Unicode 15: combining marks and joiners that take no column, and wide characters that take two, as
// far as names and sentences of scenarios use them.
constexpr Range kZeroWidth[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
                                {0x610, 0x61A},   {0x64B, 0x65F},   {0x1AB0, 0x1AFF},
                                {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                           {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <std::size_t size>
bool is_in(const Range (&ranges)[size], char32_t character) {
    return std::ranges::any_of(ranges, [&](const Range& range) {
        return character >= range.first && character <= range.last;
    });
}

// Takes the next character off `text`; a broken byte stands for itself.
char32_t take_character(std::string_view& text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (length == 1 || first < 0xC2 || first > 0xF4 || text.size() < length) {
        text.remove_prefix(1);
        return first;
    }
    char32_t character = first & (0xFFu >> (length + 1));
    for (std::size_t at = 1; at < length; ++at)
        character = character << 6 | (byte(at) & 0x3Fu);
    text.remove_prefix(length);
    return character;
}

std::string padded(const TextCell& cell, std::size_t width, Align align, bool is_last,
                   bool use_colour) {
    const std::size_t own = display_width(cell.text);
    const std::string space(width > own ? width - own : 0, ' ');
    const std::string text = painted(cell.text, cell.paint, use_colour);
    if (align == Align::right)
        return space + text;
    return is_last ? text : text + space;
}

std::string markdown_text(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

} // namespace

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const char32_t character = take_character(text);
        width += is_in(kZeroWidth, character) ? 0 : is_in(kWide, character) ? 2 : 1;
    }
    return width;
}

std::string painted(std::string_view text, Paint paint, bool use_colour) {
    // ECMA-48, select graphic rendition.
    constexpr std::string_view kCodes[] = {"", "2", "1", "32", "33", "31"};
    if (!use_colour || paint == Paint::none || text.empty())
        return std::string(text);
    return "\x1b[" + std::string(kCodes[static_cast<std::size_t>(paint)]) + "m" +
           std::string(text) + "\x1b[0m";
}

void TextTable::add(std::vector<TextCell> cells) {
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::string TextTable::print(Format format, bool use_colour, std::size_t indent) const {
    return format == Format::markdown ? print_markdown() : print_text(use_colour, indent);
}

std::string TextTable::print_text(bool use_colour, std::size_t indent) const {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        std::size_t width = display_width(columns_[column].title);
        for (const auto& row : rows_)
            width = std::max(width, display_width(row[column].text));
        widths.push_back(width);
    }
    std::string out;
    const auto line = [&](auto&& cell_of) {
        std::string text(indent, ' ');
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            const bool is_last = column + 1 == columns_.size();
            text += padded(cell_of(column), widths[column], columns_[column].align, is_last,
                           use_colour);
            text += is_last ? "" : "  ";
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
    };
    line([&](std::size_t column) { return TextCell{columns_[column].title, Paint::bold}; });
    line([&](std::size_t column) {
        return TextCell{std::string(widths[column], '-'), Paint::dim};
    });
    for (const auto& row : rows_)
        line([&](std::size_t column) { return row[column]; });
    return out;
}

std::string TextTable::print_markdown() const {
    std::string out = "|";
    for (const Column& column : columns_)
        out += ' ' + markdown_text(column.title) + " |";
    out += "\n|";
    for (const Column& column : columns_)
        out += column.align == Align::right ? "---:|" : "---|";
    out += '\n';
    for (const auto& row : rows_) {
        out += '|';
        for (const TextCell& cell : row)
            out += ' ' + markdown_text(cell.text) + " |";
        out += '\n';
    }
    return out;
}

} // namespace mqcore::report
