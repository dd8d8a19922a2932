#include "support/catch.hpp"
#include "support/json.hpp"

#include <random>
#include <utility>

using namespace mqcore::support;

template <class Object>
concept CanBeSearched = requires(Object&& object) {
    find(std::forward<Object>(object), "key");
};

// What is found must not outlive what holds it: neither a temporary nor an object that would become
// one for the call alone is taken.
static_assert(CanBeSearched<Json&> && CanBeSearched<const Json&>);
static_assert(!CanBeSearched<Json> && !CanBeSearched<const Json>);
static_assert(!CanBeSearched<JsonObject&> && !CanBeSearched<const JsonObject&>);
static_assert(!CanBeSearched<JsonObject> && !CanBeSearched<JsonArray&>);

TEST_CASE("one document is parsed, with space around it") {
    const auto json = parse_json(" {\"a\": [1, 2.5, \"x\", null, true]} \n", "test");
    REQUIRE(json);
    CHECK(print_json(*json) == R"({"a":[1,2.5E0,"x",null,true]})");
}

TEST_CASE("what is no document is refused with line and column") {
    struct Case {
        std::string_view text, place;
    };
    const Case cases[] = {{"", "t:1:1:"},
                          {"{\n  \"a\": ]\n}", "t:2:8:"},
                          {"{} {}", "t:1:4:"},
                          {"{\"a\":1", "t:1:7:"},
                          {"\xFF\xFE", "t:1:1:"}};
    for (const Case& wrong : cases) {
        const auto json = parse_json(wrong.text, "t");
        REQUIRE_FALSE(json);
        CHECK(json.error().message.substr(0, wrong.place.size()) == wrong.place);
    }
}

TEST_CASE("a deeply nested document is refused instead of exhausting the stack") {
    CHECK_FALSE(parse_json(std::string(100'000, '['), "t"));
}

TEST_CASE("the pretty form keeps flat arrays and pairs on one line") {
    const auto json = parse_json(
        R"({"id":"a","histogram":[[1,2],[3,4]],"runs":[{"n":1}],"none":{},"no":[]})", "t");
    CHECK(print_json_pretty(*json) == "{\n"
                                      "  \"id\": \"a\",\n"
                                      "  \"histogram\": [[1,2],[3,4]],\n"
                                      "  \"runs\": [\n"
                                      "    {\n"
                                      "      \"n\": 1\n"
                                      "    }\n"
                                      "  ],\n"
                                      "  \"none\": {},\n"
                                      "  \"no\": []\n"
                                      "}\n");
}

TEST_CASE("the pretty form reads back as the same document") {
    const auto json = parse_json(
        R"({"text":"a\"b\\\u0001\u20ac","n":-1,"big":18446744073709551615,"x":1e-300})", "t");
    REQUIRE(json);
    CHECK(*parse_json(print_json_pretty(*json), "t") == *json);
}

TEST_CASE("a number that was read prints as it was printed before, to the last digit") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 10'000; ++i) {
        const double value =
            static_cast<double>(random() >> 11) / static_cast<double>(1 + (random() >> 34));
        const std::string text = print_json(value);
        REQUIRE(print_json(*parse_json(text, "t")) == text);
    }
    for (const char* text : {"18446744073709551615", "-9223372036854775808", "-0E0", "5E-324"})
        CHECK(print_json(*parse_json(text, "t")) == text);
}

TEST_CASE("a document is cut into its members without being parsed") {
    using Member = std::pair<std::string, std::string>;
    const auto members = [](std::string_view text) {
        std::vector<Member> found;
        REQUIRE(cut_json(text, [&](std::string_view key, std::string_view member) {
            found.emplace_back(key, member);
            return true;
        }));
        return found;
    };
    CHECK(members(R"( {"a": 1, "b\"c": [1, {"a": 2}], "d": "x:,}\\"} )") ==
          std::vector<Member>{{"a", "1"}, {R"(b\"c)", R"([1, {"a": 2}])"}, {"d", R"("x:,}\\")"}});
    CHECK(members(R"([{"a": 1}, "k", "", []])") ==
          std::vector<Member>{{"", R"({"a": 1})"}, {"", R"("k")"}, {"", R"("")"}, {"", "[]"}});
    CHECK(members("{}").empty());
    CHECK(members("[ ]").empty());
}

TEST_CASE("cutting ends when it was told to") {
    int seen = 0;
    CHECK(cut_json("[1, 2, 3", [&](auto, auto) { return ++seen < 2; }));
    CHECK(seen == 2);
}

TEST_CASE("what cannot be cut is refused") {
    const auto all = [](auto, auto) { return true; };
    for (const char* text : {"", "7", "[1", R"({"a": "open)", "]", "[1] 2", R"({"a": {)"})
        CHECK_FALSE(cut_json(text, all));
}

TEST_CASE("reading with defaults takes a default for what is missing or of another type") {
    const auto parsed =
        parse_json(R"({"t":"x","i":-5,"u":18446744073709551615,"n":1.5,"b":true})", "t");
    const Json& json = *parsed;
    CHECK(text_or(json, "t", "d") == "x");
    CHECK(text_or(json, "i", "d") == "d");
    CHECK(integer_or(json, "i", 7) == -5);
    CHECK(integer_or(json, "u", 7) == 7); // does not fit
    CHECK(integer_or(json, "n", 7) == 7); // is not whole
    CHECK(unsigned_or(json, "u", 7) == UINT64_MAX);
    CHECK(unsigned_or(json, "i", 7) == 7); // negative
    CHECK(number_or(json, "n", 7) == 1.5);
    CHECK(number_or(json, "i", 7) == -5);
    CHECK(boolean_or(json, "b", false));
    CHECK(boolean_or(json, "t", true));
    CHECK(find(json, "missing") == nullptr);
    const Json number(5);
    CHECK(find(number, "t") == nullptr);
}
