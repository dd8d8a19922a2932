#include "support/catch.hpp"
#include "support/diagnostic.hpp"

using namespace mqcore::support;

namespace {

std::string printed(std::string_view line, std::uint32_t column, std::uint32_t length) {
    return format_diagnostic({.file = "f.toml",
                              .line = 7,
                              .column = column,
                              .length = length,
                              .message = "m",
                              .source_line = std::string(line)});
}

} // namespace

TEST_CASE("a finding has its place, its line, a caret and what to do") {
    const Diagnostic diagnostic{
        .file = "scenarios/extended.toml",
        .line = 41,
        .column = 1,
        .length = 12,
        .severity = Severity::error,
        .message = "unknown key 'paylod_bytes' in point 'pub_16k_fixed'",
        .hint = "did you mean 'payload_bytes'?  (all keys: mqcore validate --keys)",
        .source_line = "paylod_bytes = 16384"};
    CHECK(format_diagnostic(diagnostic) ==
          "scenarios/extended.toml:41:1: error: unknown key 'paylod_bytes' in point "
          "'pub_16k_fixed'\n"
          "  41 | paylod_bytes = 16384\n"
          "     | ^~~~~~~~~~~~\n"
          "     = did you mean 'payload_bytes'?  (all keys: mqcore validate --keys)\n");
}

TEST_CASE("a finding about a file as a whole quotes no line") {
    CHECK(format_diagnostic(
              {.file = "f", .severity = Severity::warning, .message = "m", .hint = "h"}) ==
          "f: warning: m\n  = h\n");
}

TEST_CASE("the caret stands below its place after tabs and characters of any width") {
    CHECK(printed("\tx = 1", 2, 1) == "f.toml:7:2: error: m\n  7 | \tx = 1\n    | \t^\n");
    // Two wide characters take four cells, a combining accent none.
    CHECK(printed("\xE6\xB8\xA9\xE5\xBA\xA6 x", 4, 1) ==
          "f.toml:7:4: error: m\n  7 | \xE6\xB8\xA9\xE5\xBA\xA6 x\n    |      ^\n");
    CHECK(printed("e\xCC\x81 x", 4, 1) == "f.toml:7:4: error: m\n  7 | e\xCC\x81 x\n    |   ^\n");
    CHECK(printed("\xE6\xB8\xA9", 1, 1) == "f.toml:7:1: error: m\n  7 | \xE6\xB8\xA9\n    | ^~\n");
}

TEST_CASE("a place at the end of a line and a length beyond it stay at the line") {
    CHECK(printed("a =", 4, 1) == "f.toml:7:4: error: m\n  7 | a =\n    |    ^\n");
    CHECK(printed("ab", 2, 50) == "f.toml:7:2: error: m\n  7 | ab\n    |  ^\n");
    CHECK(printed("ab", 400, 1) == "f.toml:7:400: error: m\n  7 | ab\n    |   ^\n");
    CHECK(printed("", 1, 1) == "f.toml:7:1: error: m\n  7 |\n    | ^\n");
}

TEST_CASE("nothing in a file can steer the terminal") {
    const std::string text = format_diagnostic({.file = "f",
                                                .line = 1,
                                                .column = 1,
                                                .message = "key '\x1B[2J\x07\n\xC2\x9B'",
                                                .source_line = "\x1B]0;title\x07 \xFF"});
    for (const char c : {'\x1B', '\x07', '\xFF', '\x9B'})
        CHECK(text.find(c) == std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("findings come in file order, whatever order they were found in") {
    const SourceFile source{"f", "one\ntwo\nthree\n"};
    DiagnosticList list(source);
    list.error({3, 1, 1}, "third");
    list.warning({1, 2, 1}, "second");
    list.error({1, 1, 1}, "first");
    list.error({}, "whole file");
    const auto found = list.in_file_order();
    REQUIRE(found.size() == 4);
    CHECK(found[0].message == "whole file");
    CHECK(found[1].message == "first");
    CHECK(found[2].message == "second");
    CHECK(found[3].message == "third");
    CHECK(found[3].source_line == "three");
    CHECK(list.has_error());
}

TEST_CASE("warnings alone are no error") {
    const SourceFile source{"f", ""};
    DiagnosticList list(source);
    list.warning({}, "w");
    CHECK_FALSE(list.has_error());
}

TEST_CASE("lines end with LF or CRLF and the last one may have no end") {
    CHECK(line_of("a\r\nb\nc", 1) == "a");
    CHECK(line_of("a\r\nb\nc", 2) == "b");
    CHECK(line_of("a\r\nb\nc", 3) == "c");
    CHECK(line_of("a\r\nb\nc", 4) == "");
    CHECK(line_of("a", 0) == "");
}
