#include "session/run_document.hpp"

#include "support/catch.hpp"

using namespace mqcore::session;
using mqcore::support::JsonObject;

namespace {

Reading reading(bool is_fresh, JsonObject counters) {
    return {.is_fresh = is_fresh, .at_ns = 1, .counters = std::move(counters)};
}

} // namespace

TEST_CASE("counters become changes; one that is missing is null with a reason") {
    const BrokerDelta delta{
        .before = reading(true, {{"publish/messages/received", 10}, {"bytes/sent", 7}}),
        .after = reading(true, {{"publish/messages/received", 25}, {"messages/sent", 4}}),
        .why_missing = {},
        .control_packets = 5};
    const JsonObject json = broker_json({}, delta);
    CHECK(json.at("fresh") == true);
    CHECK(json.at("control_packets") == 5);
    CHECK(json.at("delta").at("publish_received") == 15);
    CHECK(json.at("delta").at("bytes_sent").is_null());
    CHECK(json.at("unavailable").at("bytes_sent") ==
          "the broker does not publish $SYS/broker/bytes/sent");
    CHECK(json.at("delta").as_object().size() == 7);
}

TEST_CASE("a stale reading gives no numbers at all") {
    const BrokerDelta delta{.before = reading(true, {{"publish/messages/sent", 1}}),
                            .after = reading(false, {{"publish/messages/sent", 5}}),
                            .why_missing = "no new counters"};
    const JsonObject json = broker_json({}, delta);
    CHECK(json.at("fresh") == false);
    CHECK(json.at("delta").at("publish_sent").is_null());
    CHECK(json.at("unavailable").at("publish_sent") == "no new counters");
}

TEST_CASE("a counter that went back is no change") {
    const BrokerDelta delta{.before = reading(true, {{"messages/sent", 100}}),
                            .after = reading(true, {{"messages/sent", 5}}),
                            .why_missing = {}};
    const JsonObject json = broker_json({}, delta);
    CHECK(json.at("delta").at("messages_sent").is_null());
    CHECK(json.at("unavailable").at("messages_sent") ==
          "the counter went back: the broker was started anew");
}

TEST_CASE("the page's last counters are told with the phase") {
    auto page = mqcore::measure::SharedPage::create();
    REQUIRE(page);
    page->page().sent = 12;
    page->page().completed_elsewhere = 3;
    page->page().phase = static_cast<std::uint32_t>(mqcore::measure::WorkerPhase::driving);
    CHECK(mqcore::support::print_json(last_counters(page->page())) ==
          R"({"phase":"driving","sent":12,"completed":3,"failed":0,"received":0})");
}
