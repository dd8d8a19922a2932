#include "scenario/point.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using scenario::Kind;
using scenario::missing_capabilities;
using scenario::Point;
using Words = std::vector<std::string>;

namespace {

constexpr driver::Claims kEverything{
    .protocols = MQCORE_V311 | MQCORE_V5,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .features = MQCORE_FEATURE_TLS | MQCORE_FEATURE_FILTER_CALLBACKS |
                MQCORE_FEATURE_PUBLISH_PROPERTIES | MQCORE_FEATURE_TOPIC_ALIAS |
                MQCORE_FEATURE_RECEIVE_MAXIMUM};
constexpr driver::Claims kNothing{};

} // namespace

TEST_CASE("a driver that can do everything lacks nothing") {
    for (const Kind kind : {Kind::pub, Kind::sub, Kind::rtt, Kind::duplex, Kind::idle})
        for (const std::uint32_t qos : {0u, 1u, 2u}) {
            const Point point{.kind = kind,
                              .qos = qos,
                              .window = 65535,
                              .protocol = measure::Protocol::v5,
                              .has_tls = true};
            CHECK(missing_capabilities(point, kEverything).empty());
        }
}

TEST_CASE("what a point needs follows from its kind") {
    CHECK(missing_capabilities({.kind = Kind::pub, .qos = 2}, kNothing) ==
          Words{"MQTT 3.1.1", "QoS 2 publish"});
    CHECK(missing_capabilities({.kind = Kind::sub, .qos = 0}, kNothing) ==
          Words{"MQTT 3.1.1", "QoS 0 subscribe"});
    CHECK(missing_capabilities({.kind = Kind::rtt, .qos = 1}, kNothing) ==
          Words{"MQTT 3.1.1", "QoS 1 publish", "QoS 1 subscribe"});
    CHECK(missing_capabilities({.kind = Kind::duplex, .qos = 1}, kNothing) ==
          Words{"MQTT 3.1.1", "QoS 1 publish", "QoS 1 subscribe"});
    CHECK(missing_capabilities({.kind = Kind::idle}, kNothing) == Words{"MQTT 3.1.1"});
}

TEST_CASE("each feature is needed by the points that ask for it") {
    driver::Claims plain = kEverything;
    plain.features = 0;
    const measure::PublishProperties properties{.content_type = "text/plain"};
    CHECK(missing_capabilities({.kind = Kind::sub, .topics = 4, .filters = 2}, plain) ==
          Words{"filter callbacks"});
    CHECK(missing_capabilities({.kind = Kind::pub, .properties = properties}, plain) ==
          Words{"PUBLISH properties"});
    CHECK(missing_capabilities({.kind = Kind::sub, .properties = properties}, plain).empty());
    CHECK(missing_capabilities({.kind = Kind::pub, .has_topic_alias = true}, plain) ==
          Words{"topic alias"});
    CHECK(missing_capabilities({.kind = Kind::sub, .receive_maximum = 16}, plain) ==
          Words{"Receive Maximum"});
    CHECK(missing_capabilities({.kind = Kind::pub, .topics = 1000}, plain).empty());
}

TEST_CASE("each way has its own QoS levels") {
    driver::Claims claims = kEverything;
    claims.publish_qos = MQCORE_QOS0;
    CHECK(missing_capabilities({.kind = Kind::rtt, .qos = 1}, claims) == Words{"QoS 1 publish"});
    CHECK(missing_capabilities({.kind = Kind::sub, .qos = 1}, claims).empty());
    CHECK(missing_capabilities({.kind = Kind::pub, .qos = 0}, claims).empty());
}

TEST_CASE("protocol and TLS are needed as the point says") {
    driver::Claims claims = kEverything;
    claims.protocols = MQCORE_V311;
    claims.features = 0;
    const Point point{.kind = Kind::idle, .protocol = measure::Protocol::v5, .has_tls = true};
    CHECK(missing_capabilities(point, claims) == Words{"MQTT 5", "TLS"});
}

TEST_CASE("a window beyond the library's limit is refused where the client publishes") {
    driver::Claims claims = kEverything;
    claims.max_window = 20;
    CHECK(missing_capabilities({.kind = Kind::pub, .window = 64}, claims) ==
          Words{"a window of 64 (it has at most 20)"});
    CHECK(missing_capabilities({.kind = Kind::pub, .window = 20}, claims).empty());
    CHECK(missing_capabilities({.kind = Kind::sub, .window = 64}, claims).empty());
    claims.max_window = 0; // no limit
    CHECK(missing_capabilities({.kind = Kind::pub, .window = 65535}, claims).empty());
}

TEST_CASE("kinds are spelt as in scenario files") {
    for (const Kind kind : {Kind::pub, Kind::sub, Kind::rtt, Kind::idle})
        CHECK(scenario::kind_of(scenario::name_of(kind)) == kind);
    CHECK_FALSE(scenario::kind_of("publish"));
}
