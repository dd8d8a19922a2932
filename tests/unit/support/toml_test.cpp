#include "support/catch.hpp"
#include "support/toml.hpp"

using namespace mqcore::support;
using Type = TomlValue::Type;

namespace {

struct Parsed {
    std::optional<TomlValue> root;
    std::vector<Diagnostic> found;
};

Parsed parse(std::string content) {
    const SourceFile source{"f.toml", std::move(content)};
    DiagnosticList diagnostics(source);
    auto root = parse_toml(source, diagnostics);
    return {std::move(root), diagnostics.in_file_order()};
}

const TomlValue& at(const TomlValue& table, std::string_view key) { return table.find(key)->value; }

} // namespace

TEST_CASE("every kind of value keeps its place") {
    const auto parsed = parse("[t]\n"
                              "text = \"x\"\n"
                              "  number = 1.5\n"
                              "int =  0x10\n"
                              "flag = true\n"
                              "day = 2000-01-01\n"
                              "list = [1, \"two\"]\n"
                              "inline = { a = 1 }\n"
                              "dotted.key = 2\n");
    REQUIRE(parsed.root);
    const TomlValue& table = at(*parsed.root, "t");
    CHECK(table.where == SourceRange{1, 1, 3});
    CHECK(parsed.root->find("t")->key_range == SourceRange{1, 2, 1});
    CHECK(at(table, "text").text == "x");
    CHECK(at(table, "text").where == SourceRange{2, 8, 3});
    CHECK(at(table, "number").number == 1.5);
    CHECK(table.find("number")->key_range == SourceRange{3, 3, 6});
    CHECK(at(table, "int").integer == 16);
    CHECK(at(table, "int").where == SourceRange{4, 8, 4});
    CHECK(at(table, "flag").boolean);
    CHECK(at(table, "day").type == Type::date);
    CHECK(at(table, "list").items[1].where == SourceRange{7, 12, 5});
    CHECK(at(at(table, "inline"), "a").integer == 1);
    CHECK(at(at(table, "dotted"), "key").integer == 2);
}

TEST_CASE("keys come in the order of the file") {
    const auto parsed = parse("zebra = 1\nant = 2\n[b]\n[a]\n[[point]]\n[[point]]\n");
    REQUIRE(parsed.root);
    std::string order;
    for (const TomlMember& member : parsed.root->members)
        order += member.key + " ";
    CHECK(order == "zebra ant b a point ");
    CHECK(at(*parsed.root, "point").items[1].where == SourceRange{6, 1, 9});
}

TEST_CASE("columns count characters, not bytes") {
    const auto parsed = parse("\"\xE6\xB8\xA9\xE5\xBA\xA6\" = \"\xF0\x9F\x98\x80\"\n");
    REQUIRE(parsed.root);
    CHECK(parsed.root->members[0].key_range == SourceRange{1, 1, 4});
    CHECK(parsed.root->members[0].value.where == SourceRange{1, 8, 3});
}

TEST_CASE("a syntax error has its place and the slips that people make have a hint") {
    struct Case {
        std::string content;
        std::uint32_t line, column;
        std::string hint;
    };
    const Case cases[] = {
        {"a = 1\nb = 256B\n", 2, 8, "a value with a unit stands in quotes: b = \"256B\""},
        {"rate = 2000/s # offer\n", 1, 12,
         "a value with a unit stands in quotes: rate = \"2000/s\""},
        {"payload = 1.5 MiB\n", 1, 15,
         "a value with a unit stands in quotes: payload = \"1.5 MiB\""},
        {"kind = pub\n", 1, 8, "a word stands in quotes: kind = \"pub\""},
        {"protocol = 3.1.1\n", 1, 15, "a version stands in quotes: protocol = \"3.1.1\""},
        {"a = \"open\n", 1, 10, ""},
        {"[open\n", 1, 6, ""},
        {"a = \n", 1, 5, ""},
        {"a = \"\\ud800\"\n", 1, 12, ""},
    };
    for (const Case& wrong : cases) {
        CAPTURE(wrong.content);
        const auto parsed = parse(wrong.content);
        CHECK_FALSE(parsed.root);
        REQUIRE(parsed.found.size() == 1);
        CHECK(parsed.found[0].line == wrong.line);
        CHECK(parsed.found[0].column == wrong.column);
        CHECK(parsed.found[0].hint == wrong.hint);
        CHECK(parsed.found[0].message.starts_with("not valid TOML: "));
    }
}

TEST_CASE("a key that stands twice is an error at the second one") {
    const auto parsed = parse("[t]\nqos = 1\nrate = 5\n  qos = 2\n");
    REQUIRE(parsed.found.size() == 1);
    CHECK(parsed.found[0].line == 4);
    CHECK(parsed.found[0].column == 3);
    CHECK(parsed.found[0].length == 3);
    CHECK(parsed.found[0].message == "'qos' stands twice");
    CHECK(parse("[t]\n[t]\n").found[0].message == "'t' stands twice");
}

TEST_CASE("a character that is no ASCII is refused outside of quotes, at its place") {
    const auto parsed = parse("a = 1\nb = \xE2\x80\x9C"
                              "256B\xE2\x80\x9D\n");
    REQUIRE(parsed.found.size() == 1);
    CHECK(parsed.found[0].line == 2);
    CHECK(parsed.found[0].column == 5);
    CHECK(parsed.found[0].message == "'\xE2\x80\x9C' stands outside of quotes");
    CHECK(parse("\xC3\xB6 = 1").found.size() == 1);
    CHECK(parse("# \xC3\xB6\n'\xC3\xB6' = \"\xC3\xB6\" # \xC3\xB6").found.empty());
}

TEST_CASE("quotes before the closing ones belong to a text of several lines") {
    const auto parsed =
        parse("a = [\"\"\"x\"\"\"\", \"\"\"\xC3\xB6\"\"\"\"\", '''\\'''', '\xC3\xB6']\n");
    INFO(format_diagnostics(parsed.found));
    REQUIRE(parsed.root);
    CHECK(at(*parsed.root, "a").items.size() == 4);
    CHECK(at(*parsed.root, "a").items[1].text == "\xC3\xB6\"\"");
}

TEST_CASE("a line on which the library loses its own state is named") {
    const auto parsed = parse("a = 1\nb = \"\"\"\ntext\n\"\"\"\n  [.c]\nd = 1\n");
    CHECK_FALSE(parsed.root);
    REQUIRE(parsed.found.size() == 1);
    CHECK(parsed.found[0].line == 5);
    CHECK(parsed.found[0].column == 3);
    CHECK(parse("[.a]").found[0].line == 1);
}

TEST_CASE("a deeply nested file is refused instead of exhausting the stack") {
    CHECK(parse("a = " + std::string(100'000, '[')).found.size() == 1);
    CHECK(parse("a = " + std::string(100'000, '{')).found.size() == 1);
    std::string dotted = "a";
    for (int i = 0; i < 500'000; ++i)
        dotted += ".a";
    CHECK(parse(dotted + " = 1").found[0].message == "a key with more than 8 parts");
    CHECK(parse("[" + dotted + "]").found[0].column == 17);
}

TEST_CASE("dots in texts, comments and numbers are no parts of a key") {
    const std::string dots(100, '.');
    const auto parsed =
        parse("a = \"" + dots + "\"\nb = '" + dots + "' # " + dots + "\nc = \"\"\"\n" + dots +
              "\\\"\n\"\"\"\nd = [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]\n# " + dots);
    CHECK(parsed.found.empty());
    CHECK(parsed.root);
}

TEST_CASE("a long line without quotes is an error like any other") {
    CHECK(parse("a = " + std::string(1'000'000, 'b')).found.size() == 1);
}
