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

// All of one length, so that a message's size does not depend on its topic.
std::vector<std::string> topics_below(const Point& point, const std::string& topic) {
    std::vector<std::string> topics;
    for (std::uint32_t n = 0; point.topics > 1 && n < point.topics; ++n)
        topics.push_back(point.filters > 1 ? fmt::format("{}/f{:04}/t{:04}", topic,
                                                         n % point.filters, n / point.filters)
                                           : fmt::format("{}/t{:04}", topic, n));
    return topics.empty() ? std::vector{topic} : topics;
}

std::vector<std::string> filters_below(const Point& point, const std::string& topic) {
    if (point.topics == 1)
        return {topic};
    std::vector<std::string> filters;
    for (std::uint32_t n = 0; point.filters > 1 && n < point.filters; ++n)
        filters.push_back(fmt::format("{}/f{:04}/+", topic, n));
    return filters.empty() ? std::vector{topic + "/+"} : filters;
}

// A PUBLISH is topic, packet identifier, properties and payload (MQTT 3.1.1 and 5, section 3.3.2).
std::vector<std::uint32_t> payloads_of(const Point& point, std::size_t topic_bytes) {
    if (point.packets.empty())
        return {point.payload_bytes};
    const std::size_t header = 2 + topic_bytes + (point.qos ? 2u : 0u) +
                               (point.protocol == measure::Protocol::v5 ? 1u : 0u);
    std::vector<std::uint32_t> payloads;
    for (const std::uint32_t length : point.packets)
        payloads.push_back(static_cast<std::uint32_t>(length - header));
    return payloads;
}

// MQTT 3.1.1 section 3.1.3.1: every broker takes 1 to 23 characters of [0-9a-zA-Z].
std::string client_id(std::uint32_t tag, std::string_view role) {
    return fmt::format("mqcore{:08x}{}", tag, role);
}

SendSpec sender(const Point& point, const RunIdentity& identity, const std::string& topic) {
    std::vector<std::string> topics = topics_below(point, topic);
    std::vector<std::uint32_t> payloads = payloads_of(point, topics.front().size());
    return {.topics = std::move(topics),
            .payload_bytes = std::move(payloads),
            .qos = point.qos,
            .rate = point.rate,
            .pacing = point.pacing,
            .window = point.window,
            .tag = identity.tag,
            .limit = {},
            .properties = point.properties};
}

ReceiveSpec receiver(const Point& point, const RunIdentity& identity, const std::string& topic) {
    return {.filters = filters_below(point, topic),
            .qos = point.qos,
            .tag = identity.tag,
            .payload_bytes = payloads_of(point, topics_below(point, topic).front().size()),
            .rate = point.rate,
            .properties = point.properties,
            .topics = point.topics};
}

// The client sends the alias; the peer's messages to it never carry one.
SendSpec client_sender(const Point& point, const RunIdentity& identity, const std::string& topic) {
    SendSpec send = sender(point, identity, topic);
    send.topic_alias = point.has_topic_alias ? 1 : 0;
    return send;
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
    client.receive_maximum = point.receive_maximum; // the peer never holds a client back

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
        wiring.worker.send = client_sender(point, identity, topic);
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
    case Kind::duplex: {
        wiring.worker.send = client_sender(point, identity, topic);
        wiring.worker.receive = receiver(point, identity, reply);
        SendSpec send = sender(point, identity, reply);
        send.window = kSourceWindow;
        wiring.peer = PeerSpec{.role = PeerRole::duplex,
                               .endpoint = other,
                               .send = std::move(send),
                               .receive = receiver(point, identity, topic)};
        break;
    }
    case Kind::rtt:
        wiring.worker.send = client_sender(point, identity, topic);
        wiring.worker.receive = receiver(point, identity, reply);
        wiring.peer = PeerSpec{.role = PeerRole::echo,
                               .endpoint = other,
                               .send = sender(point, identity, reply),
                               .receive = receiver(point, identity, topic)};
        break;
    case Kind::idle:
        if (point.is_direct) // somebody has to be the server
            wiring.peer =
                PeerSpec{.role = PeerRole::sink, .endpoint = other, .send = {}, .receive = {}};
        break;
    }
    if (wiring.peer)
        wiring.peer->is_direct = point.is_direct;
    return wiring;
}

support::JsonObject to_json(const Point& point) {
    const auto numbers = [](const std::vector<std::uint32_t>& values) {
        return support::JsonArray(values.begin(), values.end());
    };
    const std::size_t topic_bytes = topics_below(point, topic_of(point, 0, "")).front().size();
    support::JsonArray user;
    for (const auto& [name, value] : point.properties.user)
        user.push_back(support::JsonArray{name, value});
    const auto text = [](const std::string& value) {
        return value.empty() ? support::Json(nullptr) : support::Json(value);
    };
    return {{"id", point.id},
            {"suite", point.suite},
            {"kind", scenario::name_of(point.kind)},
            {"qos", point.qos},
            {"payload_bytes", numbers(payloads_of(point, topic_bytes))},
            {"packets", numbers(point.packets)},
            {"rate", point.rate ? support::Json(*point.rate) : support::Json(nullptr)},
            {"capacity", point.is_capacity},
            {"window", point.window},
            {"protocol", measure::name_of(point.protocol)},
            {"tls", point.has_tls},
            {"direct", point.is_direct},
            {"pacing", measure::name_of(point.pacing)},
            {"keepalive_s", point.keepalive_s},
            {"topic", point.topic},
            {"topics", point.topics},
            {"filters", point.filters},
            {"topic_bytes", topic_bytes},
            {"receive_maximum",
             point.receive_maximum ? support::Json(point.receive_maximum) : support::Json(nullptr)},
            {"topic_alias", point.has_topic_alias},
            {"properties",
             support::JsonObject{{"content_type", text(point.properties.content_type)},
                                 {"response_topic", text(point.properties.response_topic)},
                                 {"correlation_data", text(point.properties.correlation_data)},
                                 {"user", std::move(user)}}},
            {"question", point.question}};
}

} // namespace mqcore::campaign
