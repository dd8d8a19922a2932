#include "campaign/wiring.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using namespace mqcore::campaign;
using scenario::Kind;

namespace {

Wiring wired(Kind kind, bool is_capacity = false) {
    return wire({.id = "p",
                 .kind = kind,
                 .qos = 1,
                 .payload_bytes = 256,
                 .rate = is_capacity ? std::nullopt : std::optional(1000.0),
                 .is_capacity = is_capacity,
                 .window = 64,
                 .topic = "a/b"},
                {.tag = 0xABCD, .receive_offer = 7000.0});
}

} // namespace

TEST_CASE("what one party publishes is exactly what the other subscribes to") {
    const Wiring pub = wired(Kind::pub);
    REQUIRE(pub.worker.send->topics == pub.peer->receive->filters);
    REQUIRE_FALSE(pub.worker.receive);
    REQUIRE(pub.peer->role == measure::PeerRole::sink);

    const Wiring sub = wired(Kind::sub);
    REQUIRE(sub.peer->send->topics == sub.worker.receive->filters);
    REQUIRE_FALSE(sub.worker.send);
    REQUIRE(sub.peer->role == measure::PeerRole::source);

    const Wiring rtt = wired(Kind::rtt);
    REQUIRE(rtt.worker.send->topics == rtt.peer->receive->filters);
    REQUIRE(rtt.peer->send->topics == rtt.worker.receive->filters);
    REQUIRE(rtt.worker.send->topics !=
            rtt.peer->send->topics); // or requests would be echoed for ever
}

TEST_CASE("an idle point has no peer and no message") {
    const Wiring idle = wired(Kind::idle);
    REQUIRE_FALSE(idle.peer);
    REQUIRE_FALSE(idle.worker.send);
    REQUIRE_FALSE(idle.worker.receive);
}

// Counts rest on this: some brokers leave retained publishes out of their counters.
TEST_CASE("no specification can ask for a retained publish") {
    const Wiring rtt = wired(Kind::rtt);
    const support::Json worker = measure::to_json(rtt.worker), peer = measure::to_json(*rtt.peer);
    for (const support::Json* spec : {&worker, &peer})
        REQUIRE(support::print_json(*spec).find("retain") == std::string::npos);
}

TEST_CASE("the run's tag is in topics, client ids and payloads of both parties") {
    const Wiring rtt = wired(Kind::rtt);
    REQUIRE(rtt.worker.send->topics[0] == "mqcore/0000abcd/a/b");
    REQUIRE(rtt.worker.endpoint.client_id != rtt.peer->endpoint.client_id);
    REQUIRE(rtt.worker.endpoint.client_id.size() <= 23); // MQTT 3.1.1, 3.1.3.1
    REQUIRE(rtt.worker.send->tag == 0xABCD);
    REQUIRE(rtt.peer->receive->tag == 0xABCD);
}

TEST_CASE("receiving at capacity is offered by the source at the given rate") {
    const Wiring sub = wired(Kind::sub, true);
    REQUIRE(sub.peer->send->rate == 7000.0);
    REQUIRE_FALSE(sub.worker.receive->rate); // a backlog has no due times worth measuring
    const Wiring pub = wired(Kind::pub, true);
    REQUIRE_FALSE(pub.worker.send->rate);
}

TEST_CASE("the longest run prefix stays within what scenario files are checked for") {
    const Wiring rtt = wired(Kind::rtt);
    REQUIRE(rtt.peer->send->topics[0].size() - 3 <= scenario::kRunPrefixBytesMax);
}

TEST_CASE("duplex has one topic each way, and the peer both sends and receives") {
    const Wiring duplex = wired(Kind::duplex);
    REQUIRE(duplex.peer->role == measure::PeerRole::duplex);
    REQUIRE(duplex.worker.send->topics == duplex.peer->receive->filters);
    REQUIRE(duplex.peer->send->topics == duplex.worker.receive->filters);
    REQUIRE(duplex.worker.send->topics != duplex.peer->send->topics);
    REQUIRE(duplex.peer->send->rate == 1000.0);
    REQUIRE(duplex.peer->receive->rate == 1000.0);
}

TEST_CASE("many topics are received through one wildcard or through a filter for each group") {
    scenario::Point point{.id = "p", .kind = Kind::sub, .rate = 100.0, .topic = "a", .topics = 6};
    Wiring wiring = wire(point, {.tag = 1});
    REQUIRE(wiring.peer->send->topics.size() == 6);
    REQUIRE(wiring.peer->send->topics[5] == "mqcore/00000001/a/t0005");
    REQUIRE(wiring.worker.receive->filters == std::vector<std::string>{"mqcore/00000001/a/+"});

    point.filters = 3;
    wiring = wire(point, {.tag = 1});
    const auto& filters = wiring.worker.receive->filters;
    REQUIRE(filters.size() == 3);
    REQUIRE(wiring.worker.receive->topics == 6);
    for (std::size_t n = 0; n < 6; ++n) {
        const std::string& filter = filters[n % 3];
        REQUIRE(wiring.peer->send->topics[n].starts_with(filter.substr(0, filter.size() - 1)));
    }
}

TEST_CASE("payloads make packets as long as the point says") {
    const scenario::Point point{
        .id = "p", .kind = Kind::pub, .qos = 1, .packets = {127, 16384}, .rate = 1.0, .topic = "a"};
    const Wiring wiring = wire(point, {.tag = 1});
    // Topic with its length 2 + 17, packet identifier 2.
    REQUIRE(wiring.worker.send->payload_bytes == std::vector<std::uint32_t>{106, 16363});
    REQUIRE(wiring.peer->receive->payload_bytes == wiring.worker.send->payload_bytes);
}

TEST_CASE("alias and Receive Maximum are the client's, properties the messages'") {
    const scenario::Point point{.id = "p",
                                .kind = Kind::duplex,
                                .rate = 1.0,
                                .protocol = measure::Protocol::v5,
                                .receive_maximum = 16,
                                .has_topic_alias = true,
                                .properties = {.content_type = "text/plain"}};
    const Wiring wiring = wire(point, {.tag = 1});
    REQUIRE(wiring.worker.send->topic_alias == 1);
    REQUIRE(wiring.peer->send->topic_alias == 0);
    REQUIRE(wiring.worker.endpoint.receive_maximum == 16);
    REQUIRE(wiring.peer->endpoint.receive_maximum == 0);
    REQUIRE(wiring.worker.send->properties.content_type == "text/plain");
    REQUIRE(wiring.peer->receive->properties.content_type == "text/plain");
}

TEST_CASE("a direct point has a direct peer, an idle one too") {
    scenario::Point point{.id = "p", .kind = Kind::idle, .is_direct = true};
    REQUIRE(wire(point, {.tag = 1}).peer->is_direct);
    point.kind = Kind::pub;
    point.rate = 1.0;
    REQUIRE(wire(point, {.tag = 1}).peer->is_direct);
    point.is_direct = false;
    REQUIRE_FALSE(wire(point, {.tag = 1}).peer->is_direct);
}
