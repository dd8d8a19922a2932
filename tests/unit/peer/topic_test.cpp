#include "peer/decode.hpp"
#include "peer/topic.hpp"
#include "support/catch.hpp"

using namespace mqcore::peer;

TEST_CASE("topic filters match as section 4.7 of the specification says") {
    struct Row {
        std::string_view filter;
        std::string_view topic;
        bool matches;
    };
    const Row row = GENERATE(
        Row{"a/b", "a/b", true}, Row{"a/b", "a/bc", false}, Row{"a/b", "a", false},
        Row{"a", "a/b", false}, Row{"+", "a", true}, Row{"+", "a/b", false}, Row{"+/+", "/a", true},
        Row{"/+", "/a", true}, Row{"+", "/a", false}, Row{"a/+/c", "a/b/c", true},
        Row{"a/+/c", "a/b/d", false}, Row{"a/+", "a/", true}, Row{"#", "a/b/c", true},
        Row{"#", "/", true}, Row{"a/#", "a", true}, Row{"a/#", "a/b/c", true},
        Row{"a/#", "ab", false}, Row{"a/b/#", "a", false}, Row{"+/b/#", "a/b/c", true},
        Row{"#", "$SYS/x", false}, Row{"+/x", "$SYS/x", false}, Row{"$SYS/#", "$SYS/x", true},
        Row{"a//b", "a//b", true}, Row{"a/+/b", "a//b", true});
    CAPTURE(row.filter, row.topic);
    REQUIRE(matches(row.filter, row.topic) == row.matches);
}

TEST_CASE("a wildcard fills its whole level") {
    for (const std::string_view good : {"#", "+", "a/+/b", "a/#", "/", "+/+/#", "/+"})
        REQUIRE(is_topic_filter(good));
    for (const std::string_view bad : {"", "a#", "#a", "a+", "+a/b", "a/#/b", "##", "a/b#"})
        REQUIRE_FALSE(is_topic_filter(bad));
}
