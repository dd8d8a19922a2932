#include "report/selection.hpp"

#include "support/campaign_documents.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using namespace mqcore::tests;

TEST_CASE("a selection takes points and clients out of the manifest with all that names them") {
    Json manifest = campaign_documents().manifest;
    REQUIRE(report::select(manifest, {.points = {"rtt_qos2_fixed"}, .clients = {"paho"}}));
    CHECK(manifest.at("points").as_array().size() == 1);
    CHECK(manifest.at("clients").as_array().size() == 1);
    CHECK(manifest.at("refused").as_array().empty()); // it was gmqtt's
    CHECK(report::has_pair(manifest, "paho", "rtt_qos2_fixed"));
    CHECK_FALSE(report::has_pair(manifest, "gmqtt", "rtt_qos2_fixed"));
    CHECK_FALSE(report::has_pair(manifest, "paho", "idle_connect"));
}

TEST_CASE("an unknown point or client is named with the nearest one") {
    Json manifest = campaign_documents().manifest;
    const auto no_point = report::select(manifest, {.points = {"rtt_qos2_fixd"}, .clients = {}});
    REQUIRE_FALSE(no_point);
    CHECK(support::one_line(no_point.error()) ==
          "the campaign has no point 'rtt_qos2_fixd' (did you mean 'rtt_qos2_fixed'?)");
    const auto no_client = report::select(manifest, {.points = {}, .clients = {"xyz"}});
    REQUIRE_FALSE(no_client);
    CHECK(support::one_line(no_client.error()) ==
          "the campaign has no client 'xyz' (it has gmqtt, paho, paho-c)");
}
