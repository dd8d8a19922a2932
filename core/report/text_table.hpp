#pragma once
// A table of text with aligned columns, as plain text (widths counted in terminal columns, not bytes) or
// as Markdown. Knows nothing of benchmarks.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::report {

enum class Align { left, right };
enum class Format { text, markdown };

// Colours of a terminal. none prints no escape at all.
enum class Paint { none, dim, bold, green, yellow, red };

struct Column {
    std::string title;
    Align align = Align::left;
};

struct TextCell {
    std::string text;
    Paint paint = Paint::none;
};

class TextTable {
  public:
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<TextCell> cells); // missing cells are empty
    bool empty() const { return rows_.empty(); }

    // Plain text: two spaces between columns, `indent` before each line, a rule under the titles; a
    // last left-aligned column is not padded. Lines end in "\n".
    std::string print(Format format, bool use_colour = false, std::size_t indent = 0) const;

  private:
    std::string print_text(bool use_colour, std::size_t indent) const;
    std::string print_markdown() const;

    std::vector<Column> columns_;
    std::vector<std::vector<TextCell>> rows_;
};

// Columns that a terminal needs: combining marks 0, wide East Asian characters and emoji 2, else 1.
std::size_t display_width(std::string_view text);
std::string painted(std::string_view text, Paint paint, bool use_colour);

} // namespace mqcore::report
