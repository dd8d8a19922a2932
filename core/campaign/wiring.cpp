#include "campaign/wiring.hpp"

#include <fmt/format.h>

namespace mqcore::campaign {
namespace {

using measure::PeerRole;
using measure::PeerSpec;
using measure::ReceiveSpec;
using measure::SendSpec;
using scenario::Kind;
using scenario::Point;

// A source that offers more than the client takes must not be held back by the broker's
// acknowledgements of a window that the client's point asked for: this is the largest that 16-bit
// packet identifiers allow to stay clear of their reuse.
constexpr std::uint32_t kSourceWindow = 8192;

// Every topic of a run starts with its tag, so that no message of another run matches its filters.
std::string topic_of(const Point& point, std::uint32_t tag, std::string_view branch) {
    return fmt::format("mqcore/{:08x}/{}{}", tag, branch, point.topic);
}

// MQTT 3.1.1 section 3.1.3.1: every broker takes 1 to 23 characters of [0-9a-zA-Z].
std::string client_id(std::uint32_t tag, std::string_view role) {
    return fmt::format("mqcore{:08x}{}", tag, role);
}

SendSpec sender(const Point& point, const RunIdentity& identity, std::string topic) {
    return {.topics = {std::move(topic)},
            .payload_bytes = {point.payload_bytes},
            .qos = point.qos,
            .rate = point.rate,
            .pacing = point.pacing,
            .window = point.window,
            .tag = identity.tag,
            .limit = {}};
}

ReceiveSpec receiver(const Point& point, const RunIdentity& identity, std::string filter) {
    return {.filters = {std::move(filter)},
            .qos = point.qos,
            .tag = identity.tag,
            .payload_bytes = {point.payload_bytes},
            .rate = point.rate};
}

} // namespace

Wiring wire(const Point& point, const RunIdentity& identity) {
    const std::string topic = topic_of(point, identity.tag, "");
    const std::string reply = topic_of(point, identity.tag, "reply/");
    measure::Endpoint client{.protocol = point.protocol,
                             .client_id = client_id(identity.tag, "c"),
                             .keepalive_s = point.keepalive_s};
    measure::Endpoint other = client;
    other.client_id = client_id(identity.tag, "p");

    Wiring wiring{.worker = {.driver_file = identity.driver_file,
                             .driver_folder = identity.driver_folder,
                             .environment = identity.environment,
                             .endpoint = client,
                             .send = {},
                             .receive = {},
                             .options = identity.options},
                  .peer = {}};
    switch (point.kind) {
    case Kind::pub:
        wiring.worker.send = sender(point, identity, topic);
        wiring.peer = PeerSpec{.role = PeerRole::sink,
                               .endpoint = other,
                               .send = {},
                               .receive = receiver(point, identity, topic)};
        break;
    case Kind::sub: {
        wiring.worker.receive = receiver(point, identity, topic);
        SendSpec send = sender(point, identity, topic);
        send.window = kSourceWindow;
        if (point.is_capacity)
            send.rate = identity.receive_offer;
        wiring.peer = PeerSpec{
            .role = PeerRole::source, .endpoint = other, .send = std::move(send), .receive = {}};
        break;
    }
    case Kind::rtt:
        wiring.worker.send = sender(point, identity, topic);
        wiring.worker.receive = receiver(point, identity, reply);
        wiring.peer = PeerSpec{.role = PeerRole::echo,
                               .endpoint = other,
                               .send = sender(point, identity, reply),
                               .receive = receiver(point, identity, topic)};
        break;
    case Kind::idle:
        break;
    }
    return wiring;
}

support::JsonObject to_json(const Point& point) {
    return {{"id", point.id},
            {"suite", point.suite},
            {"kind", scenario::name_of(point.kind)},
            {"qos", point.qos},
            {"payload_bytes", support::JsonArray{point.payload_bytes}},
            {"rate", point.rate ? support::Json(*point.rate) : support::Json(nullptr)},
            {"capacity", point.is_capacity},
            {"window", point.window},
            {"protocol", measure::name_of(point.protocol)},
            {"tls", point.has_tls},
            {"pacing", measure::name_of(point.pacing)},
            {"keepalive_s", point.keepalive_s},
            {"topic", point.topic},
            {"question", point.question}};
}

} // namespace mqcore::campaign
