#pragma once
// What is wrong with a file that a person wrote, where, and what would be right. A file is checked
// as a whole: every finding is collected and printed in file order, with the line and a caret below
// it:
//
//   scenarios/extended.toml:41:1: error: unknown key 'paylod' in point 'pub_16k_fixed'
//     41 | paylod = "16KiB"
//        | ^~~~~~
//        = did you mean 'payload'?  (all keys: mqcore validate --keys)

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::support {

// A text file and the name under which messages mention it.
struct SourceFile {
    std::string name;
    std::string content; // without a byte order mark
};

// A stretch of one line. Lines and columns count from 1; a column is one code point, as in editors.
struct SourceRange {
    std::uint32_t line = 0; // 0: the file as a whole
    std::uint32_t column = 0;
    std::uint32_t length = 1;

    bool operator==(const SourceRange&) const = default;
};

// The text of a line, from 1, without its end; empty past the end.
std::string_view line_of(std::string_view content, std::uint32_t line);

enum class Severity { warning, error };

struct Diagnostic {
    std::string file;
    std::uint32_t line = 0; // 0: the file as a whole, nothing to quote
    std::uint32_t column = 0;
    std::uint32_t length = 1;
    Severity severity = Severity::error;
    std::string message;
    std::string hint = {};        // what to do next; may be empty
    std::string source_line = {}; // the line itself, so that printing needs no file
};

// The printed form of one finding, ending in a newline. Tabs, wide and combining characters before
// the caret keep it in place; unprintable bytes are shown as U+FFFD and long lines are cut.
std::string format_diagnostic(const Diagnostic& diagnostic);
std::string format_diagnostics(std::span<const Diagnostic> diagnostics);

bool has_error(std::span<const Diagnostic> diagnostics);

// Collects the findings about one file.
class DiagnosticList {
  public:
    explicit DiagnosticList(const SourceFile& source) : source_(source) {}

    void error(SourceRange where, std::string message, std::string hint = {});
    void warning(SourceRange where, std::string message, std::string hint = {});

    bool has_error() const { return support::has_error(found_); }
    const SourceFile& source() const { return source_; }
    std::vector<Diagnostic> in_file_order() const;

  private:
    void add(Severity severity, SourceRange where, std::string message, std::string hint);

    const SourceFile& source_;
    std::vector<Diagnostic> found_;
};

} // namespace mqcore::support
