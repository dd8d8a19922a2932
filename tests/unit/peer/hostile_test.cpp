// Bytes that no honest side would send. The sanitizer build shows what a plain one would survive by
// luck; the seeds are fixed, so a failure can be repeated.

#include "packets.hpp"
#include "support/catch.hpp"

#include <random>

using namespace mqcore::peer;
using namespace mqcore::peer::tests;

namespace {

// Reads everything the views give away, so that a wrong one is met by the sanitizer.
struct Reader {
    std::uint64_t sum = 0;

    void touch(Bytes bytes) {
        for (const std::uint8_t byte : bytes)
            sum += byte;
    }
    void touch(std::string_view text) { touch(bytes_of(text)); }

    void decode(const Frame& frame, Protocol protocol) {
        ConnectView connect;
        if (decode_connect(frame, connect) == Fault::none) {
            touch(connect.client_id);
            touch(connect.will_topic);
            touch(connect.will_payload);
            touch(connect.user_name.value_or(""));
            touch(connect.password.value_or(Bytes{}));
        }
        ConnackView connack;
        if (decode_connack(frame, protocol, connack) == Fault::none)
            touch(connack.properties.reason_string);
        PublishView publish;
        if (decode_publish(frame, protocol, publish) == Fault::none) {
            touch(publish.topic);
            touch(publish.properties);
            touch(publish.payload);
        }
        AckView ack;
        if (decode_ack(frame, protocol, ack) == Fault::none)
            touch(ack.reason_string);
        FilterView filter;
        for (const bool has_options : {true, false}) {
            SubscribeView subscribe;
            const Fault fault = has_options ? decode_subscribe(frame, protocol, subscribe)
                                            : decode_unsubscribe(frame, protocol, subscribe);
            while (fault == Fault::none && next_filter(subscribe.filters, has_options, filter))
                touch(filter.filter);
        }
        SubackView suback;
        if (decode_suback(frame, protocol, suback) == Fault::none)
            touch(suback.codes);
        if (decode_unsuback(frame, protocol, suback) == Fault::none)
            touch(suback.codes);
        ReasonView reason;
        if (decode_reason(frame, protocol, reason) == Fault::none)
            touch(reason.reason_string);
        static_cast<void>(decode_empty(frame));
    }

    // Feeds the bytes in random pieces; every frame is read as every packet.
    void run(Bytes bytes, Protocol protocol, std::mt19937& random) {
        PacketReader reader(protocol);
        reader.set_maximum_bytes(1 << 20);
        while (!bytes.empty() && reader.fault() == Fault::none) {
            const std::size_t step = std::min<std::size_t>(bytes.size(), 1 + random() % 40);
            feed(reader, bytes.first(step));
            bytes = bytes.subspan(step);
            Frame frame;
            while (reader.next(frame))
                decode(frame, protocol);
        }
    }
};

// A stream of every packet there is.
Octets honest_stream(Protocol protocol) {
    const PropertyWriter connect = PropertyWriter().two_bytes(Property::receive_maximum, 9);
    const PropertyWriter publish = PropertyWriter()
                                       .pair("key", "value")
                                       .four_bytes(Property::message_expiry_interval, 7)
                                       .text(Property::correlation_data, "\x01\x02");
    const FilterFields filters[] = {{.filter = "a/+/b", .options = 1},
                                    {.filter = "#", .options = 0}};
    const Octets codes = octets(0, 1, 0x80);
    ByteQueue out;
    REQUIRE(encode_connect(out, {.protocol = protocol,
                                 .client_id = "client",
                                 .user_name = "user",
                                 .password = "secret",
                                 .properties = connect.bytes()}));
    encode_connack(out, protocol, {.properties = connect.bytes()});
    for (std::uint8_t qos = 0; qos < 3; ++qos)
        std::memset(
            encode_publish(
                out, protocol,
                {.topic = "top/ic", .qos = qos, .packet_id = 3, .properties = publish.bytes()}, 50),
            0x33, 50);
    for (const PacketType type :
         {PacketType::puback, PacketType::pubrec, PacketType::pubrel, PacketType::pubcomp})
        encode_ack(out, protocol, type, 77);
    REQUIRE(encode_subscribe(out, protocol, 4, filters));
    encode_suback(out, protocol, 4, codes);
    REQUIRE(encode_unsubscribe(out, protocol, 5, filters));
    encode_unsuback(out, protocol, 5, codes);
    encode_pingreq(out);
    encode_pingresp(out);
    encode_disconnect(out, protocol, 0x8E);
    return content(out);
}

} // namespace

TEST_CASE("random bytes are cut and read without harm") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    std::mt19937 random(1'883);
    Reader reader;
    for (int round = 0; round < 4'000; ++round) {
        Octets bytes(random() % 300);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        reader.run(bytes, protocol, random);
    }
    SUCCEED();
}

TEST_CASE("honest packets with flipped, cut and doubled bytes are read without harm") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    const Octets honest = honest_stream(protocol);
    std::mt19937 random(8'883);
    Reader reader;
    for (int round = 0; round < 6'000; ++round) {
        Octets bytes = honest;
        for (unsigned change = 0; change < 1 + random() % 6; ++change) {
            const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
            switch (random() % 3) {
            case 0:
                bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                bytes.erase(bytes.begin() + at);
                break;
            default:
                bytes.insert(bytes.begin() + at, bytes[static_cast<std::size_t>(at)]);
                break;
            }
        }
        reader.run(bytes, protocol, random);
    }
    SUCCEED();
}

TEST_CASE("an honest stream is read whole, as the packets it was written as") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    const Octets honest = honest_stream(protocol);
    PacketReader reader(protocol);
    feed(reader, honest);
    Frame frame;
    std::vector<PacketType> types;
    while (reader.next(frame))
        types.push_back(frame.type);
    using enum PacketType;
    REQUIRE(types == std::vector{connect, connack, publish, publish, publish, puback, pubrec,
                                 pubrel, pubcomp, subscribe, suback, unsubscribe, unsuback, pingreq,
                                 pingresp, disconnect});
    REQUIRE(reader.pending_bytes() == 0);
}
