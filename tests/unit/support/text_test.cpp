#include "support/catch.hpp"
#include "support/text.hpp"

using namespace mqcore::support;

namespace {

const std::vector<std::string> kKeys = {"payload", "pacing", "rate", "window", "qos"};

} // namespace

TEST_CASE("a near miss is found, transpositions and capitals included") {
    CHECK(nearest("paylod", kKeys) == "payload");
    CHECK(nearest("wnidow", kKeys) == "window");
    CHECK(nearest("QoS", kKeys) == "qos");
    CHECK(nearest("rat", kKeys) == "rate");
}

TEST_CASE("a word that is like nothing gets no suggestion") {
    CHECK_FALSE(nearest("colour", kKeys));
    CHECK_FALSE(nearest("xy", kKeys));
    CHECK_FALSE(nearest("", std::vector<std::string>{}));
    CHECK_FALSE(nearest(std::string(100'000, 'p'), kKeys));
}

TEST_CASE("the nearest of two near words is taken") {
    CHECK(nearest("pub_qos1_max", std::vector<std::string>{"pub_qos0_mix", "pub_qos0_max"}) ==
          "pub_qos0_max");
}

TEST_CASE("every occurrence is replaced, and what came in is not looked at again") {
    REQUIRE(replace_all("a-b-c", "-", "--") == "a--b--c");
    REQUIRE(replace_all("aaa", "aa", "b") == "ba");
    REQUIRE(replace_all("{pid}", "{pid}", "") == "");
    REQUIRE(replace_all("text", "", "x") == "text");
}

TEST_CASE("bytes are printed exactly") {
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(256) == "256 B");
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(format_bytes(1024) == "1 KiB");
    CHECK(format_bytes(20000) == "20000 B");
    CHECK(format_bytes(1024 * 1024) == "1 MiB");
    CHECK(format_bytes(1024 * 1024 + 1024) == "1025 KiB");
}

TEST_CASE("counts have a comma every three digits") {
    CHECK(format_count(0) == "0");
    CHECK(format_count(999) == "999");
    CHECK(format_count(1000) == "1,000");
    CHECK(format_count(12'345'678) == "12,345,678");
    CHECK(format_count(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("durations take the unit that reads best") {
    CHECK(format_duration(0) == "0 ns");
    CHECK(format_duration(850) == "850 ns");
    CHECK(format_duration(12'345) == "12.3 µs");
    CHECK(format_duration(4'560'000) == "4.56 ms");
    CHECK(format_duration(1.2e9) == "1.20 s");
}

TEST_CASE("well-formed UTF-8 passes up to the last code point") {
    CHECK(is_utf8(""));
    CHECK(is_utf8("plain"));
    CHECK(is_utf8("\xC2\x80\xDF\xBF"));                 // U+0080, U+07FF
    CHECK(is_utf8("\xE0\xA0\x80\xED\x9F\xBF"));         // U+0800, U+D7FF
    CHECK(is_utf8("\xEE\x80\x80\xEF\xBB\xBF"));         // U+E000, U+FEFF
    CHECK(is_utf8("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF")); // U+10000, U+10FFFF
    CHECK(is_utf8(std::string_view("a\0b", 3)));
}

TEST_CASE("ill-formed UTF-8 is refused at the byte of its first fault") {
    struct Case {
        std::string_view text;
        std::size_t bad_at;
    };
    const Case cases[] = {
        {"ab\x80", 2},           // a continuation without a start
        {"\xC0\xAF", 0},         // overlong '/'
        {"\xC1\xBF", 0},         // overlong, two bytes
        {"\xE0\x80\xAF", 0},     // overlong, three bytes
        {"\xF0\x80\x80\xAF", 0}, // overlong, four bytes
        {"a\xED\xA0\x80", 1},    // U+D800, a lone surrogate
        {"\xED\xBF\xBF", 0},     // U+DFFF
        {"\xF4\x90\x80\x80", 0}, // U+110000
        {"\xF5\x80\x80\x80", 0}, // beyond
        {"\xC3", 0},             // cut short
        {"\xE2\x82", 0},         //
        {"ok \xF0\x9F\x98", 3},  //
        {"\xC3(", 0},            // a start without its continuation
        {"\xFF", 0},
    };
    for (const Case& wrong : cases) {
        std::size_t bad_at = 99;
        CHECK_FALSE(is_utf8(wrong.text, &bad_at));
        CHECK(bad_at == wrong.bad_at);
    }
}

TEST_CASE("a long text is cut between characters") {
    CHECK(brief("short", 5) == "short");
    CHECK(brief("longer", 5) == "longe\xE2\x80\xA6");
    CHECK(brief("\xE6\xB8\xA9\xE5\xBA\xA6", 1) == "\xE6\xB8\xA9\xE2\x80\xA6");
    CHECK(brief("\xE6\xB8\xA9\xE5\xBA\xA6", 2) == "\xE6\xB8\xA9\xE5\xBA\xA6");
}
