#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "verdict/explain.hpp"
#include "verdict/table.hpp"

#include <set>

namespace {

using namespace mqcore;
using namespace mqcore::verdict;

std::vector<scenario::Scenario> with_point() {
    scenario::Point point{.id = "pub_qos1_fixed"};
    point.qos = 1;
    point.rate = 2000;
    point.suite = "core";
    point.question = "What does publishing cost?";
    scenario::Scenario core{.suite = "core"};
    core.points = {point};
    return {core};
}

constexpr std::string_view kBegin = "<!-- generated from core/verdict: begin -->\n";
constexpr std::string_view kEnd = "<!-- generated from core/verdict: end -->\n";

} // namespace

TEST_CASE("every id of the table is explained and none is used twice") {
    const auto scenarios = with_point();
    std::set<std::string> seen;
    for (const std::string& id : explainable_ids(scenarios)) {
        INFO(id);
        CHECK(seen.insert(id).second);
        const auto text = explain(id, scenarios);
        REQUIRE(text);
        CHECK(text->starts_with(id + " ("));
        CHECK(text->ends_with("\n"));
    }
    CHECK(seen.contains("pub_qos1_fixed"));
    CHECK(seen.contains("not_sustained"));
}

TEST_CASE("an explanation says what an entry is, where it applies and how it is computed") {
    CHECK(*explain("broker_headroom", {}) ==
          "broker_headroom (check): The broker was not the limit\n"
          "  says        At a fixed rate and when idle the broker had time to spare, so\n"
          "              that latency and cost are not its own.\n"
          "  applies to  every point at a fixed rate or idle; not in direct mode\n"
          "  computed    The broker used less than 85 % of one core in the window.\n");
    CHECK(*explain("rate", {}) ==
          "rate (metric): msgs/s\n"
          "  says        Messages delivered per second, as the party at the other end\n"
          "              confirms them.\n"
          "  applies to  points with messages\n"
          "  computed    Arrivals in the window divided by its length: at the peer's sink\n"
          "              on publish points, at the client on receive and round trip points,\n"
          "              at both on duplex points. What a client calls completed is never\n"
          "              the rate.\n"
          "  unit        /s, higher is better\n");
    CHECK(*explain("pub_qos1_fixed", with_point()) ==
          "pub_qos1_fixed (point): What does publishing cost?\n"
          "  suite       core\n"
          "  kind        pub\n"
          "  QoS         1\n"
          "  payload     256 B\n"
          "  load        2,000 messages/s\n"
          "  protocol    MQTT 3.1.1\n"
          "  pacing      tick\n");
}

TEST_CASE("an unknown id gets the nearest known one") {
    const auto near = explain("broker_headrom", {});
    REQUIRE_FALSE(near);
    CHECK(near.error().code == support::ErrorCode::wrong_input);
    CHECK(near.error().hint == "did you mean 'broker_headroom'?");
    const auto point = explain("pub_qos1_fixd", with_point());
    REQUIRE_FALSE(point);
    CHECK(point.error().hint == "did you mean 'pub_qos1_fixed'?");
    const auto far = explain("xyzzy", {});
    REQUIRE_FALSE(far);
    CHECK(far.error().hint.find("did you mean") == std::string::npos);
}

TEST_CASE("scopes are told in words") {
    CHECK(in_words(find_check("worker_completed")->scope) == "every point");
    CHECK(in_words(find_check("no_loss")->scope) == "points with messages, QoS 1 and 2");
    CHECK(in_words(find_check("client_kept_up")->scope) ==
          "receive and duplex points at a fixed rate");
    CHECK(in_words(find_check("topic_alias_used")->scope).ends_with(", with a topic alias"));
    CHECK(in_words(find_metric("lag_p99_us")->scope) ==
          "publish, round trip and duplex points at a fixed rate");
}

TEST_CASE("the table has a title, a sentence and a way of computing for everything") {
    const auto is_sentence = [](const std::string& text) { return text.ends_with("."); };
    for (const CheckEntry& entry : checks()) {
        INFO(entry.id);
        CHECK_FALSE(entry.title.empty());
        CHECK(is_sentence(entry.says));
        CHECK(is_sentence(entry.computed));
    }
    for (const FlagEntry& entry : flags()) {
        INFO(entry.id);
        CHECK_FALSE(entry.title.empty());
        CHECK(is_sentence(entry.says));
        CHECK(is_sentence(entry.computed));
    }
    for (const MetricEntry& entry : metrics()) {
        INFO(entry.id);
        CHECK_FALSE(entry.title.empty());
        CHECK(is_sentence(entry.says));
        CHECK(is_sentence(entry.computed));
    }
}

TEST_CASE("docs/measuring.md holds the table as it is enforced") {
    const std::filesystem::path page = mqcore::tests::source_folder() / "docs/measuring.md";
    std::string text = tests::content_of(page);
    const std::size_t begin = text.find(kBegin);
    const std::size_t end = text.find(kEnd);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    text.replace(begin + kBegin.size(), end - begin - kBegin.size(),
                 "\n" + methodology_markdown() + "\n");
    tests::check_golden(page, text);
}

TEST_CASE("the methodology lists the points of the scenarios that it is given") {
    CHECK(methodology_markdown().find("## Points") == std::string::npos);
    CHECK(methodology_markdown(with_point())
              .find("| `pub_qos1_fixed` | pub | 1 | 256 B | 2,000 messages/s | MQTT 3.1.1 | What "
                    "does publishing cost? |\n") != std::string::npos);
}
