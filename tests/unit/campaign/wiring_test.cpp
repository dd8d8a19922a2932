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
