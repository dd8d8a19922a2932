#include "session/witness.hpp"

#include "support/catch.hpp"

using namespace mqcore::session;
using mqcore::support::JsonObject;

namespace {

constexpr std::uint64_t kControlPackets = 9;
// PUBLISH alone; PUBLISH, PUBACK; PUBLISH, PUBREC, PUBREL, PUBCOMP.
constexpr std::uint64_t kPackets = kControlPackets + 10 + 2 * 20 + 4 * 40;

Json counters(std::uint64_t received, std::uint64_t sent, std::uint64_t packets) {
    return JsonObject{{"publish/messages/received", received},
                      {"publish/messages/sent", sent},
                      {"messages/received", packets},
                      {"messages/sent", packets}};
}

const Json kZero = counters(0, 0, 0);

} // namespace

TEST_CASE("a broker that counts everything is an exact witness") {
    const BrokerWitness witness =
        witness_of(counters(1000, 500, 90), counters(1070, 570, 90 + kPackets), kControlPackets);
    for (const Sight sight : witness.publish_received)
        CHECK(sight == Sight::exact);
    for (const Sight sight : witness.publish_sent)
        CHECK(sight == Sight::exact);
    CHECK(witness.messages_received == Sight::exact);
    CHECK(witness.messages_sent == Sight::exact);
}

TEST_CASE("Mosquitto 2.0.11 is blind for received QoS 2 publishes alone") {
    const BrokerWitness witness = witness_of(kZero, counters(30, 70, kPackets), kControlPackets);
    CHECK(witness.publish_received == std::array{Sight::exact, Sight::exact, Sight::blind});
    CHECK(witness.publish_sent == std::array{Sight::exact, Sight::exact, Sight::exact});
    CHECK(mqcore::support::print_json(to_json(witness)) ==
          R"({"publish_received":{"qos0":"exact","qos1":"exact","qos2":"blind"},)"
          R"("publish_sent":{"qos0":"exact","qos1":"exact","qos2":"exact"},)"
          R"("messages_received":"exact","messages_sent":"exact","reason":""})");
}

TEST_CASE("a sum that no set of the handful makes is unclear, never trusted") {
    for (const std::uint64_t received : {1u, 31u, 75u, 80u, 700u}) {
        INFO(received);
        const BrokerWitness witness =
            witness_of(kZero, counters(received, 70, kPackets + 3), kControlPackets);
        for (const Sight sight : witness.publish_received)
            CHECK(sight == Sight::unclear);
        CHECK(witness.messages_received == Sight::unclear);
    }
}

TEST_CASE("a counter that is not there, or went back, is unread") {
    const BrokerWitness none = witness_of(JsonObject{}, JsonObject{}, kControlPackets);
    CHECK(none.publish_received[0] == Sight::unread);
    CHECK(none.messages_sent == Sight::unread);
    const BrokerWitness back = witness_of(counters(9, 9, 9), kZero, kControlPackets);
    CHECK(back.publish_sent[2] == Sight::unread);
}

TEST_CASE("a broker that counts nothing at all is blind") {
    const BrokerWitness witness = witness_of(kZero, kZero, kControlPackets);
    CHECK(witness.publish_received == std::array{Sight::blind, Sight::blind, Sight::blind});
    CHECK(witness.messages_received == Sight::blind);
}
