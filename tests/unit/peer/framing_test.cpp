#include "packets.hpp"
#include "support/catch.hpp"

#include <random>

using namespace mqcore::peer;
using namespace mqcore::peer::tests;

namespace {

// Fixed header bytes of a PUBLISH with this remaining length.
Octets publish_header(std::uint32_t remaining) {
    Octets header{0x30};
    do {
        header.push_back(static_cast<std::uint8_t>(remaining % 128 | (remaining > 127 ? 128 : 0)));
        remaining /= 128;
    } while (remaining);
    return header;
}

// Lets the reader believe that `count` more bytes have arrived, without writing them: 256 MiB then
// cost nothing, and the frame's body is not looked at.
void feed_unwritten(PacketReader& reader, std::size_t count) {
    while (count) {
        const std::size_t step = std::min(count, reader.space().size());
        reader.filled(step);
        count -= step;
    }
}

} // namespace

TEST_CASE("every step of the remaining length is read and written with the right number of bytes") {
    struct Step {
        std::uint32_t remaining;
        std::size_t length_bytes;
    };
    const Step step =
        GENERATE(Step{0, 1}, Step{127, 1}, Step{128, 2}, Step{16'383, 2}, Step{16'384, 3},
                 Step{2'097'151, 3}, Step{2'097'152, 4}, Step{268'435'455, 4});
    CAPTURE(step.remaining);
    const Octets header = publish_header(step.remaining);
    REQUIRE(header.size() == 1 + step.length_bytes);

    PacketReader reader(Protocol::v5);
    feed(reader, header);
    Frame frame;
    if (step.remaining) {
        REQUIRE_FALSE(reader.next(frame));
        feed_unwritten(reader, step.remaining - 1);
        REQUIRE_FALSE(reader.next(frame));
        feed_unwritten(reader, 1);
    }
    REQUIRE(reader.next(frame));
    REQUIRE(frame.body.size() == step.remaining);
    REQUIRE(frame.wire_bytes == header.size() + step.remaining);
    REQUIRE(reader.pending_bytes() == 0);

    if (step.remaining < 3)
        return;
    ByteQueue out;
    const std::uint8_t* payload =
        encode_publish(out, Protocol::v311, {.topic = "t", .properties = {}}, step.remaining - 3);
    REQUIRE(payload == out.data() + header.size() + 3);
    REQUIRE(out.size() == header.size() + step.remaining);
    REQUIRE(Octets(out.data(), out.data() + header.size()) == header);
}

TEST_CASE("a packet one byte beyond the largest remaining length is refused and writes nothing") {
    ByteQueue out;
    REQUIRE(encode_publish(out, Protocol::v311, {.topic = "t", .properties = {}},
                           kMaxRemainingLength - 2) == nullptr);
    REQUIRE(encode_publish(out, Protocol::v5, {.topic = "t", .properties = {}},
                           kMaxRemainingLength - 3) == nullptr);
    const std::string topic(65'536, 't');
    REQUIRE(encode_publish(out, Protocol::v311, {.topic = topic, .properties = {}}, 1) == nullptr);
    REQUIRE(out.is_empty());
}

TEST_CASE("a remaining length of five bytes is a fault in both protocols") {
    const Protocol protocol = GENERATE(Protocol::v311, Protocol::v5);
    PacketReader reader(protocol);
    feed(reader, octets(0x30, 0x80, 0x80, 0x80, 0x80, 0x01));
    Frame frame;
    REQUIRE_FALSE(reader.next(frame));
    REQUIRE(reader.fault() == Fault::length_of_five_bytes);
    REQUIRE(name_of(reader.fault()) == "length_of_five_bytes");
}

TEST_CASE("a longer length than needed is a fault of MQTT 5 alone") {
    PacketReader old_reader(Protocol::v311);
    PacketReader new_reader(Protocol::v5);
    Frame frame;
    feed(old_reader, octets(0xD0, 0x80, 0x00));
    REQUIRE(old_reader.next(frame));
    feed(new_reader, octets(0xD0, 0x80, 0x00));
    REQUIRE_FALSE(new_reader.next(frame));
    REQUIRE(new_reader.fault() == Fault::length_not_minimal);
}

TEST_CASE("packets above the agreed size are refused before their bytes arrive") {
    PacketReader reader(Protocol::v5);
    reader.set_maximum_bytes(100);
    feed(reader, octets(0x30, 99));
    Frame frame;
    REQUIRE_FALSE(reader.next(frame));
    REQUIRE(reader.fault() == Fault::packet_too_large);
}

TEST_CASE("reserved types and flags are faults") {
    struct Row {
        Protocol protocol;
        std::uint8_t first;
        Fault fault;
    };
    const Row row = GENERATE(Row{Protocol::v311, 0x00, Fault::reserved_type},
                             Row{Protocol::v311, 0xF0, Fault::reserved_type},
                             Row{Protocol::v5, 0xF0, Fault::none},
                             Row{Protocol::v311, 0x60, Fault::wrong_flags}, // PUBREL wants 2
                             Row{Protocol::v311, 0x62, Fault::none},
                             Row{Protocol::v311, 0x80, Fault::wrong_flags}, // SUBSCRIBE
                             Row{Protocol::v311, 0xA0, Fault::wrong_flags}, // UNSUBSCRIBE
                             Row{Protocol::v311, 0x42, Fault::wrong_flags}, // PUBACK
                             Row{Protocol::v311, 0xC1, Fault::wrong_flags}, // PINGREQ
                             Row{Protocol::v311, 0x3F, Fault::none});       // PUBLISH: any
    CAPTURE(int(row.first));
    PacketReader reader(row.protocol);
    feed(reader, octets(row.first, 0));
    Frame frame;
    REQUIRE(reader.next(frame) == (row.fault == Fault::none));
    REQUIRE(reader.fault() == row.fault);
}

TEST_CASE("a stream that arrives byte by byte yields the same packets") {
    ByteQueue stream;
    REQUIRE(encode_publish(stream, Protocol::v5,
                           {.topic = "a/b", .qos = 1, .packet_id = 7, .properties = {}}, 200));
    std::fill_n(stream.data() + stream.size() - 200, 200, std::uint8_t{0x5A});
    encode_ack(stream, Protocol::v5, PacketType::puback, 9);
    encode_pingresp(stream);

    PacketReader reader(Protocol::v5);
    std::vector<PacketType> types;
    for (const std::uint8_t byte : stream.bytes()) {
        feed(reader, octets(byte));
        Frame frame;
        while (reader.next(frame)) {
            types.push_back(frame.type);
            if (frame.type != PacketType::publish)
                continue;
            PublishView publish;
            REQUIRE(decode_publish(frame, Protocol::v5, publish) == Fault::none);
            REQUIRE(publish.topic == "a/b");
            REQUIRE(publish.payload.size() == 200);
            REQUIRE(std::ranges::all_of(publish.payload, [](int b) { return b == 0x5A; }));
        }
    }
    REQUIRE(types == std::vector{PacketType::publish, PacketType::puback, PacketType::pingresp});
    REQUIRE(reader.fault() == Fault::none);
}

TEST_CASE("packets of any size survive being split at random") {
    std::mt19937 random(20'240'311); // fixed: a failure can be repeated
    const auto up_to = [&](std::size_t limit) { return random() % (limit + 1); };
    ByteQueue stream;
    std::vector<std::size_t> lengths;
    for (int packet = 0; packet < 400; ++packet) {
        const std::size_t length = packet % 50 == 0 ? 200'000 + up_to(900'000) : up_to(700);
        lengths.push_back(length);
        std::uint8_t* payload =
            encode_publish(stream, Protocol::v311, {.topic = "t", .properties = {}}, length);
        REQUIRE(payload);
        for (std::size_t at = 0; at < length; ++at)
            payload[at] = static_cast<std::uint8_t>(at * 7 + length);
    }

    PacketReader reader(Protocol::v311);
    std::size_t seen = 0;
    while (!stream.is_empty()) {
        const std::span<std::uint8_t> space = reader.space();
        const std::size_t step =
            std::min({stream.size(), space.size(), 1 + up_to(seen % 3 ? 300'000 : 900)});
        std::copy_n(stream.data(), step, space.data());
        stream.consume(step);
        reader.filled(step);
        Frame frame;
        while (reader.next(frame)) {
            PublishView publish;
            REQUIRE(decode_publish(frame, Protocol::v311, publish) == Fault::none);
            REQUIRE(publish.payload.size() == lengths.at(seen));
            for (std::size_t at = 0; at < publish.payload.size(); ++at)
                if (publish.payload[at] !=
                    static_cast<std::uint8_t>(at * 7 + publish.payload.size()))
                    FAIL("packet " << seen << " differs at byte " << at);
            ++seen;
        }
    }
    REQUIRE(seen == lengths.size());
}
