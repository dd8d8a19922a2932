#include "session/run_document.hpp"

#include "support/catch.hpp"

#include <cstdlib>

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

TEST_CASE("a failure names no folder of whoever ran it") {
    const char* home = std::getenv("HOME");
    const std::string before = home ? home : "";
    ::setenv("HOME", "/home/somebody", 1);
    const std::string temporary = std::filesystem::temp_directory_path().string();
    const Json failure = to_json(
        Failure{.party = "client",
                .phase = "creating",
                .status = "driver",
                .reason = "'/home/somebody/a.so' is no driver, nor is '" + temporary + "/x/b.so'"});
    if (home)
        ::setenv("HOME", before.c_str(), 1);
    CHECK(failure.at("reason") == "'~/a.so' is no driver, nor is '…/x/b.so'");
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

TEST_CASE("what is looked at of the client alone has numbers, or null and a reason") {
    Resources resources = unavailable_resources("no window");
    const auto none = to_json(resources);
    CHECK(none.at("client").at("unavailable").at("cpu_ns") == "no window");
    CHECK(none.at("host").at("unavailable").at("other_busy_cores") == "no window");
    for (const char* name : {"user_instructions", "kernel_instructions", "user_cycles",
                             "kernel_cycles", "tcp", "system_calls"}) {
        INFO(name);
        CHECK(none.at("client").at(name).is_null());
        CHECK(none.at("client").at("unavailable").at(name) == "no window");
        CHECK_FALSE(none.at("peer").as_object().contains(name));
    }
    CHECK(none.at("client").at("events_share").is_null());

    resources.events = {.counts = {{"user_instructions", 700}},
                        .share = 0.5,
                        .unavailable = {{"kernel_instructions", "forbidden"}}};
    resources.tcp = mqcore::machine::TcpUse{.connections = 1, .segments_out = 3, .bytes_in = 9};
    resources.system_calls = SystemCalls{.calls = 40, .bytes = 1000, .span_ns = 5};
    const auto some = to_json(resources).at("client");
    CHECK(some.at("user_instructions") == 700);
    CHECK(some.at("kernel_instructions").is_null());
    CHECK(some.at("unavailable").at("kernel_instructions") == "forbidden");
    CHECK(some.at("events_share") == 0.5);
    CHECK(some.at("tcp").at("segments_out") == 3);
    CHECK(some.at("tcp").at("bytes_in") == 9);
    CHECK(some.at("system_calls").at("calls") == 40);
    CHECK_FALSE(some.at("unavailable").as_object().contains("tcp"));
}
