#include "measure/specification.hpp"
#include "support/catch.hpp"

using namespace mqcore::measure;

TEST_CASE("a worker specification survives the control channel") {
    const WorkerSpec spec{.driver_file = "x.so",
                          .driver_folder = "x",
                          .environment = "env",
                          .endpoint = {.host = "::1",
                                       .port = 1884,
                                       .ca_file = "ca.pem",
                                       .protocol = Protocol::v5,
                                       .client_id = "c",
                                       .keepalive_s = 30,
                                       .receive_maximum = 16},
                          .connections = 3,
                          .send = SendSpec{.topics = {"a", "b"},
                                           .payload_bytes = {0, 256},
                                           .qos = 2,
                                           .rate = 333.5,
                                           .pacing = Pacing::each,
                                           .window = 9,
                                           .tag = 4'000'000'000,
                                           .limit = 10,
                                           .properties = {.content_type = "text/plain",
                                                          .response_topic = "r",
                                                          .correlation_data = "c",
                                                          .user = {{"a", "b"}, {"a", "c"}}},
                                           .topic_alias = 7},
                          .receive = ReceiveSpec{.filters = {"a/+"},
                                                 .qos = 1,
                                                 .tag = 5,
                                                 .payload_bytes = {1},
                                                 .rate = 2.0,
                                                 .properties = {.content_type = "x"},
                                                 .topics = 10},
                          .options = {{"loop", "thread"}}};
    const auto back = worker_spec_from_json(to_json(spec));
    REQUIRE(back);
    REQUIRE(to_json(*back) == to_json(spec));
    REQUIRE(back->send->properties == spec.send->properties);
    REQUIRE(back->send->topic_alias == 7);
    REQUIRE(back->receive->topics == 10);
}

TEST_CASE("capacity and no limit stay what they are across the control channel") {
    PeerSpec spec{.role = PeerRole::source,
                  .endpoint = {},
                  .send = SendSpec{.topics = {"t"}, .payload_bytes = {}, .rate = {}, .limit = {}},
                  .receive = {}};
    const auto back = peer_spec_from_json(to_json(spec));
    REQUIRE(back);
    REQUIRE_FALSE(back->send->rate);
    REQUIRE_FALSE(back->send->limit);
    REQUIRE_FALSE(back->receive);
    REQUIRE(back->role == PeerRole::source);
}

TEST_CASE("a server's behaviour survives the control channel, and needs no endpoint") {
    const PeerSpec spec{.role = PeerRole::server,
                        .endpoint = {},
                        .send = {},
                        .receive = {},
                        .behaviour = ServerBehaviour{.connack = ConnackAnswer::refuse,
                                                     .connack_code = 0x87,
                                                     .connack_delay_ms = 5,
                                                     .suback = SubackAnswer::lower,
                                                     .suback_delay_ms = 500,
                                                     .puback = PubackAnswer::withhold,
                                                     .stop_reading_after = 0,
                                                     .drop_connection_after = 7,
                                                     .receive_maximum = 10}};
    const auto back = peer_spec_from_json(to_json(spec));
    REQUIRE(back);
    REQUIRE(to_json(*back) == to_json(spec));
    REQUIRE(back->behaviour->stop_reading_after == 0u);
    const auto bare =
        peer_spec_from_json(*mqcore::support::parse_json(R"({"role":"server"})", "t"));
    REQUIRE(bare);
    REQUIRE_FALSE(bare->behaviour);
}

TEST_CASE("a behaviour in a word that no server knows is refused") {
    REQUIRE_FALSE(peer_spec_from_json(*mqcore::support::parse_json(
        R"({"role":"server","behaviour":{"connack":"perhaps"}})", "t")));
}

TEST_CASE("a specification without its endpoint or with an unknown role is refused") {
    REQUIRE_FALSE(worker_spec_from_json(mqcore::support::JsonObject{}));
    REQUIRE_FALSE(
        peer_spec_from_json(*mqcore::support::parse_json(R"({"role":"spy","endpoint":{}})", "t")));
}
