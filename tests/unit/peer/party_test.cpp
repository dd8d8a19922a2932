// Sink, source, echo and client against a raw other side and against the peer's own server.

#include "measure/payload.hpp"
#include "stage.hpp"

using namespace mqcore::peer;
using namespace mqcore::peer::tests;
using mqcore::measure::PeerRole;
using mqcore::measure::PeerSpec;
using mqcore::measure::ServerBehaviour;
using mqcore::support::find;
using mqcore::support::unsigned_or;

namespace {

PeerSpec sink_spec(const Stage& stage, Protocol protocol, std::uint32_t qos) {
    return {.role = PeerRole::sink,
            .endpoint = stage.endpoint(protocol, "sink"),
            .send = {},
            .receive = receive_spec(qos)};
}
PeerSpec source_spec(const Stage& stage, Protocol protocol, mqcore::measure::SendSpec send) {
    return {.role = PeerRole::source,
            .endpoint = stage.endpoint(protocol, "source"),
            .send = std::move(send),
            .receive = {}};
}

Json part(const JsonObject& driven, std::string_view side) { return driven.at("report").at(side); }

// A PUBLISH of this run, by hand: of send_spec()'s two lengths the one that goes with the number.
Octets message(int first_byte, int packet_id, std::uint64_t number) {
    const std::uint64_t sequence = 2 * number + 1;
    Octets payload(64);
    mqcore::measure::prepare_payload(payload.data(), payload.size(), 7);
    mqcore::measure::stamp_payload(payload.data(), payload.size(), mqcore::support::now_ns(),
                                   sequence);
    const bool has_id = first_byte & 0x06;
    Octets bytes = octets(first_byte, 64 + 6 + (has_id ? 2 : 0), 0, 4, "mq/a");
    if (has_id)
        bytes.insert(bytes.end(), {0, static_cast<std::uint8_t>(packet_id)});
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

// A sink that is connected to a raw broker and drives.
struct RawSink {
    Stage stage;
    RawBroker broker{stage};
    Stage::Actor& sink = stage.add(sink_spec(stage, Protocol::v311, 2));

    RawSink() {
        sink.party->connect();
        // CONNECT 2 + 10 + 6 bytes, SUBSCRIBE 2 + 2 + 2 + 4 + 1 bytes
        REQUIRE(stage.run_until([&] { return broker.has_heard(18); }));
        broker.say(octets(0x20, 2, 0, 0));
        REQUIRE(stage.run_until([&] { return broker.has_heard(18 + 11); }));
        broker.say(octets(0x90, 3, 0, 1, 2));
        stage.expect(sink, "connected");
        broker.heard.clear();
        sink.party->drive(short_schedule());
    }
    Json receive() { return part(stage.expect(sink, "driven"), "receive"); }
};

} // namespace

TEST_CASE("messages of every QoS reach the sink once, through the peer's own server") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    const std::uint32_t qos = GENERATE(0u, 1u, 2u);
    CAPTURE(name_of(protocol), qos);
    Stage stage;
    stage.listening({});
    Stage::Actor& sink = stage.connected(sink_spec(stage, protocol, qos));
    REQUIRE(stage.connected_event["granted_qos"] == Json(mqcore::support::JsonArray{qos}));
    REQUIRE(stage.connected_event["tcp_nodelay"] == true);
    REQUIRE(stage.connected_event["tls"] == nullptr);
    Stage::Actor& source = stage.connected(source_spec(stage, protocol, send_spec(qos, 500)));
    const auto schedule = short_schedule();
    sink.party->drive(schedule);
    source.party->drive(schedule);
    const Json sent = part(stage.expect(source, "driven"), "send");
    const Json received = part(stage.expect(sink, "driven"), "receive");
    REQUIRE(unsigned_or(sent, "sent", 0) == 500);
    REQUIRE(unsigned_or(sent, "completed", 0) == 500);
    REQUIRE(unsigned_or(sent, "unfinished", 9) == 0);
    REQUIRE(unsigned_or(sent, "failed", 9) == 0);
    REQUIRE(unsigned_or(received, "total", 0) == 500);
    REQUIRE(unsigned_or(received, "damaged", 9) == 0);
    REQUIRE(unsigned_or(received, "stray", 9) == 0);
    REQUIRE(unsigned_or(*find(received, "ledger"), "distinct", 0) == 500);
    REQUIRE(unsigned_or(*find(received, "ledger"), "duplicates", 9) == 0);
}

TEST_CASE("a fixed rate is paced, its lag recorded and its due messages told") {
    const auto pacing = GENERATE(mqcore::measure::Pacing::tick, mqcore::measure::Pacing::each);
    Stage stage;
    stage.listening({});
    auto send = send_spec(0, std::nullopt);
    send.rate = 2'000;
    send.pacing = pacing;
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v311, send));
    source.party->drive(short_schedule());
    const Json sent = part(stage.expect(source, "driven"), "send");
    // 120 ms at 2,000/s: the message due at the very end is not in the window.
    REQUIRE(unsigned_or(sent, "due_in_window", 0) == 239);
    const std::uint64_t never = unsigned_or(sent, "never_sent", 999);
    REQUIRE(unsigned_or(*find(sent, "lag"), "count", 0) + never == 239);
    REQUIRE(unsigned_or(sent, "sent", 0) == unsigned_or(sent, "sent_window", 1));
    REQUIRE(unsigned_or(sent, "slept", 0) > 0);
}

TEST_CASE("a limit ends the offer, and what it excludes is not due") {
    Stage stage;
    stage.listening({});
    auto send = send_spec(1, 10);
    send.rate = 1'000;
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v5, send));
    source.party->drive(short_schedule());
    const Json sent = part(stage.expect(source, "driven"), "send");
    REQUIRE(unsigned_or(sent, "sent", 0) == 10);
    REQUIRE(unsigned_or(sent, "completed", 0) == 10);
    REQUIRE(unsigned_or(sent, "due_in_window", 0) == 10);
    REQUIRE(unsigned_or(sent, "never_sent", 9) == 0);
}

TEST_CASE("the window is the smaller of ours and the server's Receive Maximum") {
    Stage stage;
    Stage::Actor& server =
        stage.listening({.puback = mqcore::measure::PubackAnswer::withhold, .receive_maximum = 10});
    auto send = send_spec(1, std::nullopt);
    send.window = 64;
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v5, send));
    REQUIRE(stage.connected_event["receive_maximum"] == 10);
    source.party->drive(short_schedule());
    const Json sent = part(stage.expect(source, "driven"), "send");
    REQUIRE(unsigned_or(sent, "window", 0) == 10);
    REQUIRE(unsigned_or(sent, "sent", 0) == 10);
    REQUIRE(unsigned_or(sent, "unfinished", 0) == 10);
    REQUIRE(unsigned_or(sent, "window_full", 0) == 1);
    server.party->report();
    const JsonObject report = stage.expect(server, "report");
    const Json& connection = report.at("connections").as_array().at(0);
    REQUIRE(unsigned_or(connection, "most_unfinished", 0) == 10);
    REQUIRE(unsigned_or(connection, "receive_maximum_exceeded", 9) == 0);
}

TEST_CASE("an echo returns each request unchanged") {
    const std::uint32_t qos = GENERATE(0u, 1u, 2u);
    Stage stage;
    stage.listening({});
    Stage::Actor& echo = stage.connected({.role = PeerRole::echo,
                                          .endpoint = stage.endpoint(Protocol::v5, "echo"),
                                          .send = mqcore::measure::SendSpec{.topics = {"reply"},
                                                                            .payload_bytes = {},
                                                                            .qos = qos,
                                                                            .rate = {},
                                                                            .window = 4,
                                                                            .limit = {}},
                                          .receive = receive_spec(qos)});
    auto replies = receive_spec(qos);
    replies.filters = {"reply"};
    Stage::Actor& sink = stage.connected({.role = PeerRole::sink,
                                          .endpoint = stage.endpoint(Protocol::v5, "sink"),
                                          .send = {},
                                          .receive = replies});
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v5, send_spec(qos, 300)));
    const auto schedule = short_schedule();
    for (Stage::Actor* actor : {&echo, &sink, &source})
        actor->party->drive(schedule);
    const Json echoed = stage.expect(echo, "driven")["report"];
    const Json received = part(stage.expect(sink, "driven"), "receive");
    REQUIRE(unsigned_or(*find(echoed, "receive"), "total", 0) == 300);
    REQUIRE(unsigned_or(*find(echoed, "send"), "sent", 0) == 300);
    REQUIRE(unsigned_or(*find(echoed, "send"), "completed", 0) == 300);
    REQUIRE(find(*find(echoed, "send"), "lag")->is_null());
    REQUIRE(unsigned_or(*find(received, "ledger"), "distinct", 0) == 300);
    REQUIRE(unsigned_or(received, "damaged", 9) == 0);
}

TEST_CASE("a duplex peer sends by its schedule while it receives") {
    Stage stage;
    stage.listening({});
    auto send = send_spec(1, std::nullopt);
    send.topics = {"mq/to-client"};
    send.rate = 1'000;
    auto receive = receive_spec(1);
    receive.filters = {"mq/a", "mq/b"};
    Stage::Actor& duplex = stage.connected({.role = PeerRole::duplex,
                                            .endpoint = stage.endpoint(Protocol::v311, "duplex"),
                                            .send = send,
                                            .receive = receive});
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v311, send_spec(1, 300)));
    auto from_duplex = receive_spec(1);
    from_duplex.filters = {"mq/to-client"};
    Stage::Actor& sink = stage.connected({.role = PeerRole::sink,
                                          .endpoint = stage.endpoint(Protocol::v311, "sink"),
                                          .send = {},
                                          .receive = from_duplex});
    const auto schedule = short_schedule();
    for (Stage::Actor* actor : {&sink, &duplex, &source})
        actor->party->drive(schedule);
    const JsonObject driven = stage.expect(duplex, "driven");
    const std::uint64_t sent = unsigned_or(part(driven, "send"), "sent", 0);
    REQUIRE(unsigned_or(part(driven, "send"), "due_in_window", 0) == 119);
    REQUIRE(unsigned_or(part(driven, "receive"), "total", 0) == 300);
    REQUIRE(unsigned_or(part(stage.expect(sink, "driven"), "receive"), "total", 0) == sent);
}

TEST_CASE("in direct mode the peer is the server: it records, sends, and answers") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    const std::uint32_t qos = GENERATE(0u, 1u, 2u);
    CAPTURE(name_of(protocol), qos);
    Stage stage;
    const auto direct = [&](PeerSpec spec) -> Stage::Actor& {
        spec.is_direct = true;
        Stage::Actor& actor = stage.add(std::move(spec));
        actor.party->listen();
        stage.port =
            static_cast<std::uint16_t>(unsigned_or(stage.expect(actor, "listening"), "port", 0));
        return actor;
    };
    SECTION("a sink") {
        Stage::Actor& sink = direct(
            {.role = PeerRole::sink, .endpoint = {}, .send = {}, .receive = receive_spec(qos)});
        Stage::Actor& client = stage.connected(source_spec(stage, protocol, send_spec(qos, 300)));
        const auto schedule = short_schedule();
        sink.party->drive(schedule);
        client.party->drive(schedule);
        const Json received = part(stage.expect(sink, "driven"), "receive");
        REQUIRE(unsigned_or(received, "total", 0) == 300);
        REQUIRE(unsigned_or(received, "damaged", 9) == 0);
        REQUIRE(unsigned_or(*find(received, "ledger"), "distinct", 0) == 300);
        const Json sent = part(stage.expect(client, "driven"), "send");
        REQUIRE(unsigned_or(sent, "completed", 0) == 300);
    }
    SECTION("a source") {
        Stage::Actor& source = direct(
            {.role = PeerRole::source, .endpoint = {}, .send = send_spec(qos, 300), .receive = {}});
        Stage::Actor& client = stage.connected(sink_spec(stage, protocol, qos));
        const auto schedule = short_schedule();
        client.party->drive(schedule);
        source.party->drive(schedule);
        const Json sent = part(stage.expect(source, "driven"), "send");
        REQUIRE(unsigned_or(sent, "completed", 0) == 300);
        const Json received = part(stage.expect(client, "driven"), "receive");
        REQUIRE(unsigned_or(received, "total", 0) == 300);
    }
    SECTION("an echo") {
        auto requests = receive_spec(qos);
        requests.filters = {"mq/a"};
        auto replies = send_spec(qos, std::nullopt);
        replies.topics = {"mq/reply"};
        Stage::Actor& echo =
            direct({.role = PeerRole::echo, .endpoint = {}, .send = replies, .receive = requests});
        auto send = send_spec(qos, 200);
        send.topics = {"mq/a"};
        auto receive = receive_spec(qos);
        receive.filters = {"mq/reply"};
        Stage::Actor& client = stage.connected({.role = PeerRole::duplex,
                                                .endpoint = stage.endpoint(protocol, "client"),
                                                .send = send,
                                                .receive = receive});
        const auto schedule = short_schedule();
        echo.party->drive(schedule);
        client.party->drive(schedule);
        const Json received = part(stage.expect(client, "driven"), "receive");
        REQUIRE(unsigned_or(received, "total", 0) == 200);
        REQUIRE(unsigned_or(received, "damaged", 9) == 0);
        REQUIRE(unsigned_or(part(stage.expect(echo, "driven"), "send"), "sent", 0) == 200);
    }
}

TEST_CASE("a direct peer says why it cannot drive") {
    Stage stage;
    PeerSpec spec{.role = PeerRole::source,
                  .is_direct = true,
                  .endpoint = {},
                  .send = send_spec(1, 10),
                  .receive = {}};
    Stage::Actor& alone = stage.add(spec);
    alone.party->listen();
    stage.port =
        static_cast<std::uint16_t>(unsigned_or(stage.expect(alone, "listening"), "port", 0));
    SECTION("nobody is there") {
        alone.party->drive(short_schedule());
        stage.expect_failure(alone, "no client is connected");
    }
    SECTION("the client has not subscribed to what is to be sent") {
        auto elsewhere = sink_spec(stage, Protocol::v311, 0);
        stage.connected(elsewhere);
        alone.party->drive(short_schedule());
        stage.expect_failure(alone, "no subscription of QoS 1 for 'mq/a'");
    }
}

TEST_CASE("a sink tells how many messages carried the properties, whatever their order") {
    Stage stage;
    stage.listening({});
    const mqcore::measure::PublishProperties wanted{.content_type = "text/plain",
                                                    .response_topic = "answers",
                                                    .correlation_data = "17",
                                                    .user = {{"a", "b"}}};
    auto receive = receive_spec(1);
    receive.properties = wanted;
    Stage::Actor& sink = stage.connected({.role = PeerRole::sink,
                                          .endpoint = stage.endpoint(Protocol::v5, "sink"),
                                          .send = {},
                                          .receive = receive});
    auto send = send_spec(1, 20);
    send.properties = wanted;
    send.properties.user.emplace_back("more", "than asked");
    Stage::Actor& with = stage.connected(source_spec(stage, Protocol::v5, send));
    send.properties.content_type = "text/html";
    Stage::Actor& without = stage.connected({.role = PeerRole::source,
                                             .endpoint = stage.endpoint(Protocol::v5, "other"),
                                             .send = send,
                                             .receive = {}});
    const auto schedule = short_schedule();
    for (Stage::Actor* actor : {&sink, &with, &without})
        actor->party->drive(schedule);
    const Json received = part(stage.expect(sink, "driven"), "receive");
    REQUIRE(unsigned_or(received, "total", 0) == 40);
    REQUIRE(unsigned_or(received, "with_properties", 0) == 20);

    const auto block = property_block(wanted);
    PropertyWriter moved;
    moved.pair("a", "b").text(Property::response_topic, "answers");
    moved.text(Property::correlation_data, "17").text(Property::content_type, "text/plain");
    REQUIRE(carries_properties(moved.bytes(), block));
    REQUIRE_FALSE(carries_properties(Bytes(block).first(block.size() - 6), block));
}

TEST_CASE("a QoS 2 message repeated before its PUBREL counts once, and again after it") {
    RawSink raw;
    raw.broker.say(message(0x34, 5, 0));
    raw.broker.say(message(0x3C, 5, 0)); // the same, with DUP
    REQUIRE(raw.stage.run_until([&] { return raw.broker.has_heard(8); }));
    REQUIRE(raw.broker.heard == octets(0x50, 2, 0, 5, 0x50, 2, 0, 5));
    raw.broker.say(octets(0x62, 2, 0, 5));
    REQUIRE(raw.stage.run_until([&] { return raw.broker.has_heard(12); }));
    raw.broker.say(message(0x34, 5, 1));   // a new message under the freed identifier
    raw.broker.say(octets(0x62, 2, 0, 9)); // a PUBREL for nothing still gets its PUBCOMP
    REQUIRE(raw.stage.run_until([&] { return raw.broker.has_heard(20); }));
    REQUIRE(Octets(raw.broker.heard.begin() + 8, raw.broker.heard.end()) ==
            octets(0x70, 2, 0, 5, 0x50, 2, 0, 5, 0x70, 2, 0, 9));
    const Json received = raw.receive();
    REQUIRE(unsigned_or(received, "total", 0) == 2);
    REQUIRE(unsigned_or(received, "dup_flagged", 0) == 1);
    REQUIRE(unsigned_or(received, "qos2_repeated", 0) == 1);
    REQUIRE(unsigned_or(*find(received, "ledger"), "duplicates", 9) == 0);
}

TEST_CASE("a doubled QoS 1 message, a retained one, a stray and a damaged one are told apart") {
    RawSink raw;
    raw.broker.say(message(0x32, 1, 0));
    raw.broker.say(message(0x3A, 1, 0));
    raw.broker.say(message(0x31, 0, 9)); // retained
    Octets stray = message(0x30, 0, 1);
    stray[stray.size() - 64 + 16] ^= 1; // another run's tag
    Octets damaged = message(0x30, 0, 2);
    damaged.back() ^= 1;
    raw.broker.say(stray);
    raw.broker.say(damaged);
    const Json received = raw.receive();
    REQUIRE(unsigned_or(received, "total", 0) == 3); // twice QoS 1, once damaged
    REQUIRE(unsigned_or(received, "stray", 0) == 2);
    REQUIRE(unsigned_or(received, "retained", 0) == 1);
    REQUIRE(unsigned_or(received, "damaged", 0) == 1);
    REQUIRE(unsigned_or(received, "dup_flagged", 0) == 1);
    REQUIRE(unsigned_or(*find(received, "ledger"), "duplicates", 0) == 1);
}

TEST_CASE("empty and short payloads are counted without reading what they do not carry") {
    const std::uint32_t bytes = GENERATE(0u, 1u, 7u, 8u, 15u, 16u, 19u, 20u);
    CAPTURE(bytes);
    Stage stage;
    stage.listening({});
    auto receive = receive_spec(1);
    auto send = send_spec(1, 50);
    receive.payload_bytes = send.payload_bytes = {bytes};
    Stage::Actor& sink = stage.connected({.role = PeerRole::sink,
                                          .endpoint = stage.endpoint(Protocol::v311, "sink"),
                                          .send = {},
                                          .receive = receive});
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v311, send));
    const auto schedule = short_schedule();
    sink.party->drive(schedule);
    source.party->drive(schedule);
    const Json received = part(stage.expect(sink, "driven"), "receive");
    REQUIRE(unsigned_or(received, "total", 0) == 50);
    REQUIRE(unsigned_or(received, "damaged", 9) == 0);
    REQUIRE(find(received, "ledger")->is_null() == (bytes < 16));
    REQUIRE(find(received, "transit")->is_null() == (bytes < 8));
}

TEST_CASE("who ended a connection and why is part of the failure") {
    struct Row {
        Octets said;
        bool hangs_up;
        std::string_view reason;
    };
    const Row row = GENERATE(
        Row{{}, true, "closed the connection (end of stream)"},
        Row{octets(0x30, 0x80, 0x80, 0x80, 0x80, 0x01), false, "[length_of_five_bytes]"},
        Row{octets(0x36, 5, 0, 1, "t", 0, 1), false, "a PUBLISH of the broker at 127.0.0.1:"},
        Row{octets(0x32, 5, 0, 1, "t", 0, 0), false, "[packet_id_zero]"},
        Row{octets(0xE0, 0), false, "[unexpected_packet]"}, // 3.1.1 brokers send no DISCONNECT
        Row{octets(0xD0, 0), false, "[unexpected_packet]"}, // a PINGRESP nobody asked for
        Row{octets(0x20, 2, 0, 0), false, "[unexpected_packet]"});
    RawSink raw;
    if (!row.said.empty())
        raw.broker.say(row.said);
    if (row.hangs_up)
        raw.broker.hang_up();
    raw.stage.expect_failure(raw.sink, row.reason);
}

TEST_CASE("the reason code of a broker's DISCONNECT is told, with its text") {
    Stage stage;
    RawBroker broker(stage);
    Stage::Actor& source = stage.add(source_spec(stage, Protocol::v5, send_spec(0, std::nullopt)));
    source.party->connect();
    REQUIRE(stage.run_until([&] { return broker.has_heard(10); }));
    broker.say(octets(0x20, 3, 0, 0, 0));
    stage.expect(source, "connected");
    broker.say(octets(0xE0, 9, 0x8D, 7, 0x1F, 0, 4, "late"));
    stage.expect_failure(source, "sent DISCONNECT: 0x8D keep alive timeout, 'late'");
}

TEST_CASE("a MQTT 5 broker that breaks the protocol is told so before the peer closes") {
    Stage stage;
    RawBroker broker(stage);
    Stage::Actor& source = stage.add(source_spec(stage, Protocol::v5, send_spec(0, std::nullopt)));
    source.party->connect();
    REQUIRE(stage.run_until([&] { return broker.has_heard(10); }));
    broker.say(octets(0x20, 3, 0, 0, 0));
    stage.expect(source, "connected");
    broker.heard.clear();
    broker.say(octets(0x30, 7, 0, 1, "t", 3, 0x23, 0, 1)); // an alias, with our maximum of 0
    stage.expect_failure(source, "[bad_topic_alias]");
    REQUIRE(stage.run_until([&] { return broker.has_heard(3); }));
    REQUIRE(broker.heard == octets(0xE0, 1, 0x94));
}

TEST_CASE("a refused connection and a refused subscription name the broker's reason") {
    Stage stage;
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    const bool is_v5 = protocol == Protocol::v5;
    stage.listening(
        {.connack = mqcore::measure::ConnackAnswer::refuse, .connack_code = is_v5 ? 0x88u : 3u});
    Stage::Actor& refused = stage.add(sink_spec(stage, protocol, 0));
    refused.party->connect();
    stage.expect_failure(refused, is_v5 ? "refused the connection: 0x88 server unavailable"
                                        : "refused the connection: 3 server unavailable");
    stage.listening({.suback = mqcore::measure::SubackAnswer::refuse});
    Stage::Actor& sink = stage.add(sink_spec(stage, protocol, 0));
    sink.party->connect();
    stage.expect_failure(sink, "refused the subscription to 'mq/#'");
}

TEST_CASE("a granted QoS below what was asked is shown") {
    Stage stage;
    stage.listening({.suback = mqcore::measure::SubackAnswer::lower});
    stage.connected(sink_spec(stage, Protocol::v5, 2));
    REQUIRE(stage.connected_event["granted_qos"] == Json(mqcore::support::JsonArray{1}));
}

TEST_CASE("nothing is published before the SUBACK, however late it comes") {
    Stage stage;
    stage.listening({.connack_delay_ms = 50, .suback_delay_ms = 100});
    const auto before = mqcore::support::now_ns();
    stage.connected(sink_spec(stage, Protocol::v5, 1));
    REQUIRE(mqcore::support::now_ns() - before >= 150 * kMillisecond);
    REQUIRE(unsigned_or(stage.connected_event, "connect_ns", 0) >= 50 * kMillisecond);
}

TEST_CASE("a closed port and a name that does not resolve say what was tried") {
    Stage stage;
    {
        RawBroker gone(stage); // its port is free again
    }
    Stage::Actor& sink = stage.add(sink_spec(stage, Protocol::v311, 0));
    sink.party->connect();
    stage.expect_failure(sink,
                         "tried 127.0.0.1:" + std::to_string(stage.port) + " (Connection refused)");
    PeerSpec spec = sink_spec(stage, Protocol::v311, 0);
    spec.endpoint.host = "no-such-host.invalid";
    Stage::Actor& lost = stage.add(spec);
    lost.party->connect();
    stage.expect_failure(lost, "'no-such-host.invalid' cannot be resolved");
}

TEST_CASE("an idle connection is kept alive by pings, and ended when they stay unanswered") {
    Stage stage;
    RawBroker broker(stage);
    PeerSpec spec = source_spec(stage, Protocol::v311, send_spec(0, 0));
    spec.endpoint.keepalive_s = 1;
    Stage::Actor& source = stage.add(spec);
    source.party->connect();
    REQUIRE(stage.run_until([&] { return broker.has_heard(20); }));
    broker.heard.clear();
    broker.say(octets(0x20, 2, 0, 0));
    stage.expect(source, "connected");
    REQUIRE(stage.run_until([&] { return broker.has_heard(2); }));
    REQUIRE(broker.heard == octets(0xC0, 0));
    broker.say(octets(0xD0, 0));
    REQUIRE(stage.run_until([&] { return broker.has_heard(4); }));
    stage.expect_failure(source, "has not answered a PINGREQ for 1 s");
}

TEST_CASE("a transport that takes nothing holds the source back at a bounded number of bytes") {
    Stage stage;
    auto [near, far] = link_pair(stage.io);
    auto send = send_spec(0, std::nullopt);
    send.window = 65'535;
    Stage::Actor& source = stage.add(source_spec(stage, Protocol::v311, send));
    dynamic_cast<ClientParty&>(*source.party).adopt(std::move(near));
    source.party->drive(short_schedule());
    const Json sent = part(stage.expect(source, "driven"), "send");
    // What was encoded beyond what the transport has taken: 64 KiB and at most one message.
    REQUIRE(unsigned_or(sent, "unfinished", 0) > 0);
    REQUIRE(unsigned_or(sent, "unfinished", 0) <= (64 * 1024) / 70 + 1);
    REQUIRE(unsigned_or(sent, "window_full", 0) >= 1);
    REQUIRE(unsigned_or(sent, "completed", 0) + unsigned_or(sent, "unfinished", 0) ==
            unsigned_or(sent, "sent", 0));
}

TEST_CASE("a payload of eight mebibytes crosses whole") {
    Stage stage;
    stage.listening({});
    auto receive = receive_spec(1);
    auto send = send_spec(1, 3);
    receive.payload_bytes = send.payload_bytes = {8 << 20};
    Stage::Actor& sink = stage.connected({.role = PeerRole::sink,
                                          .endpoint = stage.endpoint(Protocol::v5, "sink"),
                                          .send = {},
                                          .receive = receive});
    Stage::Actor& source = stage.connected(source_spec(stage, Protocol::v5, send));
    auto schedule = short_schedule();
    schedule.window_ns = schedule.drain_ns = 500 * kMillisecond;
    sink.party->drive(schedule);
    source.party->drive(schedule);
    const Json received = part(stage.expect(sink, "driven"), "receive");
    REQUIRE(unsigned_or(received, "total", 0) == 3);
    REQUIRE(unsigned_or(received, "damaged", 9) == 0);
}

TEST_CASE("a source keeps to the QoS and the packet size that the server announces") {
    struct Row {
        Octets connack;
        std::string_view reason;
    };
    const Row row = GENERATE(
        Row{octets(0x20, 5, 0, 0, 2, 0x24, 1), "takes QoS 1 at most, QoS 2 is asked for"},
        Row{octets(0x20, 8, 0, 0, 5, 0x27, 0, 0, 1, 0), "takes packets of 256 bytes at most"});
    Stage stage;
    RawBroker broker(stage);
    Stage::Actor& source = stage.add(source_spec(stage, Protocol::v5, send_spec(2, std::nullopt)));
    source.party->connect();
    REQUIRE(stage.run_until([&] { return broker.has_heard(10); }));
    broker.say(row.connack);
    stage.expect(source, "connected");
    source.party->drive(short_schedule());
    stage.expect_failure(source, row.reason);
}

TEST_CASE("a drive before the connection, or a second one, is refused") {
    Stage stage;
    stage.listening({});
    Stage::Actor& early = stage.add(source_spec(stage, Protocol::v5, send_spec(0, 1)));
    early.party->drive(short_schedule());
    stage.expect_failure(early, "'drive' before 'connected'");
    Stage::Actor& twice = stage.connected(source_spec(stage, Protocol::v5, send_spec(0, 1)));
    twice.party->drive(short_schedule());
    twice.party->drive(short_schedule());
    stage.expect_failure(twice, "'drive' a second time");
}

TEST_CASE("a specification that lacks what its role needs is refused") {
    asio::io_context io;
    for (const PeerRole role : {PeerRole::sink, PeerRole::source, PeerRole::echo}) {
        const auto party =
            make_party(io, {.role = role, .endpoint = {}, .send = {}, .receive = {}}, [](auto) {});
        REQUIRE_FALSE(party);
        REQUIRE(party.error().message.find(name_of(role)) != std::string::npos);
    }
}
