#include "scenario/profile.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using support::kSecond;

TEST_CASE("the profiles are those of the methodology") {
    const auto smoke = scenario::profile_named("smoke");
    REQUIRE(smoke);
    CHECK(smoke->warmup_ns == kSecond / 2);
    CHECK(smoke->window_ns == 2 * kSecond);
    CHECK(smoke->drain_ns == kSecond);
    CHECK(smoke->runs == 1);
    CHECK_FALSE(smoke->is_comparable);

    const auto standard = scenario::profile_named("standard");
    REQUIRE(standard);
    CHECK(standard->warmup_ns == 2 * kSecond);
    CHECK(standard->window_ns == 8 * kSecond);
    CHECK(standard->drain_ns == 2 * kSecond);
    CHECK(standard->runs == 3);
    CHECK(standard->is_comparable);
}

TEST_CASE("an unknown profile gets the nearest name") {
    const auto profile = scenario::profile_named("standart");
    REQUIRE_FALSE(profile);
    CHECK(profile.error().code == support::ErrorCode::wrong_input);
    CHECK(support::one_line(profile.error()) ==
          "unknown profile 'standart' (did you mean 'standard'?  (profiles: smoke, standard))");
    CHECK(scenario::profile_named("").error().hint == "profiles: smoke, standard");
}
