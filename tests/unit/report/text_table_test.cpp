#include "report/text_table.hpp"
#include "support/catch.hpp"

using namespace mqcore::report;

TEST_CASE("widths are those of a terminal, not of bytes") {
    CHECK(display_width("") == 0);
    CHECK(display_width("abc") == 3);
    CHECK(display_width("µs") == 2);
    CHECK(display_width("e\u0301") == 1); // e and a combining accent
    CHECK(display_width("日本") == 4);
    CHECK(display_width("\U0001F680") == 2);
    CHECK(display_width("\xff\xfe") == 2);  // no UTF-8: each byte for itself
    CHECK(display_width("a\xe2\x82") == 3); // cut off in the middle
}

TEST_CASE("columns are padded to their widest cell") {
    TextTable table({{"name", Align::left}, {"µs", Align::right}, {"note", Align::left}});
    table.add({{"paho"}, {"4.2"}, {"ok"}});
    table.add({{"日本"}, {"12,345"}});
    CHECK(table.print(Format::text) == "name      µs  note\n"
                                       "----  ------  ----\n"
                                       "paho     4.2  ok\n"
                                       "日本  12,345\n");
    CHECK(table.print(Format::text, false, 2).starts_with("  name"));
}

TEST_CASE("no line ends in blanks") {
    TextTable table({{"a", Align::left}, {"b", Align::left}});
    table.add({{"x"}, {}});
    CHECK(table.print(Format::text) == "a  b\n-  -\nx\n");
}

TEST_CASE("colour changes no width and stays away where it is not wanted") {
    TextTable table({{"name", Align::right}, {"b", Align::left}});
    table.add({{"x", Paint::red}, {"y"}});
    CHECK(table.print(Format::text).find('\x1b') == std::string::npos);
    CHECK(table.print(Format::text, true) == "\x1b[1mname\x1b[0m  \x1b[1mb\x1b[0m\n"
                                             "\x1b[2m----\x1b[0m  \x1b[2m-\x1b[0m\n"
                                             "   \x1b[31mx\x1b[0m  y\n");
}

TEST_CASE("Markdown escapes what would end a cell") {
    TextTable table({{"a|b", Align::left}, {"n", Align::right}});
    table.add({{"x|y"}, {"1"}});
    CHECK(table.print(Format::markdown) == "| a\\|b | n |\n|---|---:|\n| x\\|y | 1 |\n");
}
