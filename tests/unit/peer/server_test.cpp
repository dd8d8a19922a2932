// The peer's server: what it answers to raw bytes, and each behaviour a test can ask for.

#include "peer/party.hpp"
#include "stage.hpp"

using namespace mqcore::peer;
using namespace mqcore::peer::tests;
using mqcore::measure::ServerBehaviour;
using mqcore::support::unsigned_or;

namespace {

// A client that says what the test says, to the byte.
class RawClient {
  public:
    explicit RawClient(Stage& stage) : stage_(stage), socket_(stage.io) {
        socket_.connect({asio::ip::address_v4::loopback(), stage.port});
        read();
    }

    ~RawClient() {
        socket_.close();
        stage_.settle();
    }

    void say(const Octets& bytes) { asio::write(socket_, asio::buffer(bytes)); }
    void say_connect(const std::string& id, int level = 4, int keepalive_s = 0) {
        const bool is_v5 = level == 5;
        Octets bytes = octets(0x10, static_cast<int>(12 + id.size()) + is_v5, 0, 4, "MQTT", level,
                              2, 0, keepalive_s);
        if (is_v5)
            bytes.push_back(0);
        append(bytes, 0);
        append(bytes, static_cast<int>(id.size()));
        append(bytes, id);
        say(bytes);
    }
    // What arrives next is exactly this.
    void expect(const Octets& bytes) {
        REQUIRE(stage_.run_until([&] { return heard_.size() >= bytes.size(); }));
        REQUIRE(Octets(heard_.begin(),
                       heard_.begin() + static_cast<std::ptrdiff_t>(bytes.size())) == bytes);
        heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }
    void expect_end() {
        REQUIRE(stage_.run_until([&] { return has_ended_; }));
        REQUIRE(heard_.empty());
    }
    bool has_heard_nothing() const { return heard_.empty() && !has_ended_; }

  private:
    void read() {
        socket_.async_read_some(asio::buffer(block_),
                                [this](const asio::error_code& error, std::size_t got) {
                                    has_ended_ = static_cast<bool>(error);
                                    if (error)
                                        return;
                                    heard_.insert(heard_.end(), block_, block_ + got);
                                    read();
                                });
    }

    Stage& stage_;
    asio::ip::tcp::socket socket_;
    Octets heard_;
    bool has_ended_ = false;
    std::uint8_t block_[4096];
};

const Octets kConnack = octets(0x20, 2, 0, 0);
const Octets kConnack5 = octets(0x20, 6, 0, 0, 3, 0x22, 0, 16);

Json connection(Stage& stage, Stage::Actor& server, std::size_t number) {
    server.party->report();
    JsonObject report = stage.expect(server, "report");
    const auto& connections = report["connections"].as_array();
    return number < connections.size() ? connections[number] : Json(nullptr);
}

std::string ended(const Json& connection) {
    return mqcore::support::text_or(connection, "ended", "");
}

} // namespace

TEST_CASE("the server subscribes, routes by wildcard, acknowledges and unsubscribes") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient subscriber(stage), publisher(stage);
    subscriber.say_connect("s");
    subscriber.expect(kConnack);
    subscriber.say(octets(0x82, 13, 0, 1, 0, 3, "a/+", 1, 0, 2, "a#", 0)); // malformed filter
    subscriber.expect_end();

    RawClient again(stage);
    again.say_connect("s");
    again.expect(kConnack);
    again.say(octets(0x82, 8, 0, 1, 0, 3, "a/+", 1));
    again.expect(octets(0x90, 3, 0, 1, 1));
    publisher.say_connect("p", 5);
    publisher.expect(kConnack5);
    publisher.say(octets(0x34, 9, 0, 3, "a/b", 0, 9, 0, "x")); // QoS 2, delivered at QoS 1
    publisher.expect(octets(0x50, 2, 0, 9));
    publisher.say(octets(0x62, 2, 0, 9));
    publisher.expect(octets(0x70, 2, 0, 9));
    again.expect(octets(0x32, 8, 0, 3, "a/b", 0, 1, "x"));
    again.say(octets(0x40, 2, 0, 1));
    again.say(octets(0xA2, 7, 0, 2, 0, 3, "a/+", 0xC0, 0));
    again.expect(octets(0xB0, 2, 0, 2, 0xD0, 0));
    publisher.say(octets(0x30, 7, 0, 3, "a/b", 0, "y")); // nobody subscribes any more
    publisher.say(octets(0xE0, 0));
    publisher.expect_end();
    REQUIRE(again.has_heard_nothing());

    const Json told = connection(stage, server, 1);
    REQUIRE(ended(told) == "the client sent DISCONNECT");
    REQUIRE(told.at("publishes") == Json(mqcore::support::JsonArray{1, 0, 1}));
    REQUIRE(told.at("packets").at("PUBREL") == 1);
    REQUIRE(told.at("protocol") == "5");
    REQUIRE(connection(stage, server, 2).at("delivered") ==
            Json(mqcore::support::JsonArray{0, 1, 0}));
    REQUIRE(connection(stage, server, 0).at("fault") == "bad_filter");
}

TEST_CASE("the server names what a client does wrong") {
    struct Row {
        Octets said; // after CONNECT and CONNACK of MQTT 5
        std::string_view fault;
        Octets answer;
    };
    const Row row = GENERATE(
        Row{octets(0x32, 7, 0, 1, "t", 0, 0, 0, "x"), "packet_id_zero", octets(0xE0, 1, 0x82)},
        Row{octets(0x30, 7, 0, 0, 3, 0x23, 0, 17, "x"), "bad_topic_alias", octets(0xE0, 1, 0x94)},
        Row{octets(0x30, 7, 0, 0, 3, 0x23, 0, 2, "x"), "bad_topic_alias", octets(0xE0, 1, 0x94)},
        Row{octets(0x20, 3, 0, 0, 0), "unexpected_packet", octets(0xE0, 1, 0x82)},
        Row{octets(0x30, 0x80, 0x80, 0x80, 0x80, 1), "length_of_five_bytes",
            octets(0xE0, 1, 0x81)});
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient client(stage);
    client.say_connect("c", 5);
    client.expect(kConnack5);
    client.say(row.said);
    client.expect(row.answer);
    client.expect_end();
    REQUIRE(connection(stage, server, 0).at("fault") == Json(row.fault));
}

TEST_CASE("the first packet is CONNECT, and it comes once") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient early(stage), twice(stage);
    early.say(octets(0xC0, 0));
    early.expect_end();
    twice.say_connect("c");
    twice.expect(kConnack);
    twice.say_connect("c");
    twice.expect_end();
    REQUIRE(connection(stage, server, 1).at("fault") == "unexpected_packet");
}

TEST_CASE("a topic alias stands for the topic it was given with") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient client(stage);
    client.say_connect("c", 5);
    client.expect(kConnack5);
    client.say(octets(0x82, 7, 0, 1, 0, 0, 1, "t", 0));
    client.expect(octets(0x90, 4, 0, 1, 0, 0));
    client.say(octets(0x30, 8, 0, 1, "t", 3, 0x23, 0, 2, "a"));
    client.say(octets(0x30, 7, 0, 0, 3, 0x23, 0, 2, "b"));
    client.expect(octets(0x30, 5, 0, 1, "t", 0, "a", 0x30, 5, 0, 1, "t", 0, "b"));
    REQUIRE(connection(stage, server, 0).at("with_topic_alias") == 2);
}

TEST_CASE("the server can refuse, delay or never answer a CONNECT") {
    Stage stage;
    {
        stage.listening({.connack = mqcore::measure::ConnackAnswer::refuse, .connack_code = 0x87});
        RawClient client(stage);
        client.say_connect("c", 5);
        client.expect(octets(0x20, 3, 0, 0x87, 0));
        client.expect_end();
    }
    {
        stage.listening({.connack_delay_ms = 30});
        RawClient client(stage);
        client.say_connect("c");
        client.say(octets(0xC0, 0)); // sent ahead: answered after the CONNACK
        client.expect(octets(0x20, 2, 0, 0, 0xD0, 0));
    }
    {
        Stage::Actor& server = stage.listening({.connack = mqcore::measure::ConnackAnswer::never});
        RawClient client(stage);
        client.say_connect("c");
        REQUIRE(stage.run_until([&] {
            const Json told = connection(stage, server, 0);
            return told.is_object() && unsigned_or(told.at("packets"), "CONNECT", 0) == 1;
        }));
        REQUIRE(client.has_heard_nothing());
    }
}

TEST_CASE("the server can withhold acknowledgements") {
    Stage stage;
    Stage::Actor& server = stage.listening({.puback = mqcore::measure::PubackAnswer::withhold});
    RawClient client(stage);
    client.say_connect("c");
    client.expect(kConnack);
    client.say(octets(0x32, 6, 0, 1, "t", 0, 1, "x"));
    client.say(octets(0x32, 6, 0, 1, "t", 0, 1, "x")); // the identifier is in use
    client.say(octets(0x34, 6, 0, 1, "t", 0, 2, "x"));
    client.say(octets(0xC0, 0));
    client.expect(octets(0xD0, 0));
    const Json told = connection(stage, server, 0);
    REQUIRE(told.at("unfinished") == 2);
    REQUIRE(told.at("packet_id_reused") == 1);
}

TEST_CASE("the server can stop reading after so many publishes") {
    Stage stage;
    Stage::Actor& server = stage.listening({.stop_reading_after = 2});
    RawClient client(stage);
    client.say_connect("c");
    client.expect(kConnack);
    for (int message = 0; message < 5; ++message)
        client.say(octets(0x32, 6, 0, 1, "t", 0, message + 1, "x"));
    client.expect(octets(0x40, 2, 0, 1, 0x40, 2, 0, 2));
    REQUIRE(connection(stage, server, 0).at("publishes") ==
            Json(mqcore::support::JsonArray{0, 2, 0}));
    REQUIRE(connection(stage, server, 0).at("ended") == nullptr);
}

TEST_CASE("the server can drop a connection after so many publishes") {
    const std::uint64_t publishes = GENERATE(std::uint64_t{0}, std::uint64_t{3});
    Stage stage;
    Stage::Actor& server = stage.listening({.drop_connection_after = publishes});
    RawClient client(stage);
    client.say_connect("c");
    client.expect(kConnack);
    for (std::uint64_t message = 0; message < publishes; ++message)
        client.say(octets(0x30, 4, 0, 1, "t", "x"));
    client.expect_end();
    REQUIRE(ended(connection(stage, server, 0)) == "the server dropped it, as told");
}

TEST_CASE("the server counts messages beyond its Receive Maximum") {
    Stage stage;
    Stage::Actor& server =
        stage.listening({.puback = mqcore::measure::PubackAnswer::withhold, .receive_maximum = 2});
    RawClient client(stage);
    client.say_connect("c", 5);
    client.expect(octets(0x20, 9, 0, 0, 6, 0x21, 0, 2, 0x22, 0, 16));
    for (int message = 1; message <= 5; ++message)
        client.say(octets(0x32, 7, 0, 1, "t", 0, message, 0, "x"));
    client.say(octets(0xC0, 0));
    client.expect(octets(0xD0, 0));
    REQUIRE(connection(stage, server, 0).at("receive_maximum_exceeded") == 3);
    REQUIRE(connection(stage, server, 0).at("most_unfinished") == 5);
}

TEST_CASE("the server keeps a client's Receive Maximum and queues what is beyond") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient subscriber(stage), publisher(stage);
    subscriber.say(octets(0x10, 17, 0, 4, "MQTT", 5, 2, 0, 0, 3, 0x21, 0, 1, 0, 1, "s"));
    subscriber.expect(kConnack5);
    subscriber.say(octets(0x82, 7, 0, 1, 0, 0, 1, "t", 1));
    subscriber.expect(octets(0x90, 4, 0, 1, 0, 1));
    publisher.say_connect("p");
    publisher.expect(kConnack);
    for (int message = 1; message <= 3; ++message)
        publisher.say(octets(0x32, 6, 0, 1, "t", 0, message, message));
    publisher.expect(octets(0x40, 2, 0, 1, 0x40, 2, 0, 2, 0x40, 2, 0, 3));
    subscriber.expect(octets(0x32, 7, 0, 1, "t", 0, 1, 0, 1));
    REQUIRE(subscriber.has_heard_nothing());
    REQUIRE(connection(stage, server, 0).at("queued") == 2);
    subscriber.say(octets(0x40, 2, 0, 1));
    subscriber.expect(octets(0x32, 7, 0, 1, "t", 0, 2, 0, 2));
}

TEST_CASE("a second connection of a client id ends the first") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient first(stage), second(stage);
    first.say_connect("same", 5);
    first.expect(kConnack5);
    second.say_connect("same", 5);
    second.expect(kConnack5);
    first.expect(octets(0xE0, 1, 0x8E));
    first.expect_end();
    REQUIRE(ended(connection(stage, server, 0)).find("took over") != std::string::npos);
}

TEST_CASE("a client that is silent beyond its keep alive is closed") {
    Stage stage;
    Stage::Actor& server = stage.listening({});
    RawClient client(stage);
    client.say_connect("c", 5, 1);
    client.expect(kConnack5);
    client.expect(octets(0xE0, 1, 0x8D));
    client.expect_end();
    REQUIRE(ended(connection(stage, server, 0)).find("silent for 1.5 s") != std::string::npos);
}

TEST_CASE("the server listens on loopback alone") {
    Stage stage;
    mqcore::measure::PeerSpec spec;
    spec.role = mqcore::measure::PeerRole::server;
    spec.endpoint.host = "0.0.0.0";
    Stage::Actor& server = stage.add(spec);
    server.party->listen();
    stage.expect_failure(server, "loopback addresses alone, not on '0.0.0.0'");
}
