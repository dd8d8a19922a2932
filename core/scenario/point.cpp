#include "scenario/point.hpp"

#include <fmt/format.h>

namespace mqcore::scenario {
namespace {

constexpr std::pair<Kind, std::string_view> kKinds[] = {{Kind::pub, "pub"},
                                                        {Kind::sub, "sub"},
                                                        {Kind::rtt, "rtt"},
                                                        {Kind::duplex, "duplex"},
                                                        {Kind::idle, "idle"}};

} // namespace

bool publishes(Kind kind) { return kind == Kind::pub || kind == Kind::rtt || kind == Kind::duplex; }
bool subscribes(Kind kind) {
    return kind == Kind::sub || kind == Kind::rtt || kind == Kind::duplex;
}

std::string_view name_of(Kind wanted) {
    for (const auto& [kind, name] : kKinds)
        if (kind == wanted)
            return name;
    return {};
}

std::optional<Kind> kind_of(std::string_view wanted) {
    for (const auto& [kind, name] : kKinds)
        if (name == wanted)
            return kind;
    return std::nullopt;
}

std::vector<std::string> missing_capabilities(const Point& point, const driver::Claims& claims) {
    std::vector<std::string> missing;
    const std::uint32_t protocol =
        point.protocol == measure::Protocol::v311 ? MQCORE_V311 : MQCORE_V5;
    const std::uint32_t qos = 1u << point.qos;
    if (!(claims.protocols & protocol))
        missing.push_back(fmt::format("MQTT {}", measure::name_of(point.protocol)));
    if (publishes(point.kind) && !(claims.publish_qos & qos))
        missing.push_back(fmt::format("QoS {} publish", point.qos));
    if (subscribes(point.kind) && !(claims.subscribe_qos & qos))
        missing.push_back(fmt::format("QoS {} subscribe", point.qos));
    const struct {
        bool is_needed;
        std::uint32_t feature;
        const char* words;
    } features[] = {{point.has_tls, MQCORE_FEATURE_TLS, "TLS"},
                    {point.filters > 1, MQCORE_FEATURE_FILTER_CALLBACKS, "filter callbacks"},
                    {publishes(point.kind) && !point.properties.is_empty(),
                     MQCORE_FEATURE_PUBLISH_PROPERTIES, "PUBLISH properties"},
                    {point.has_topic_alias, MQCORE_FEATURE_TOPIC_ALIAS, "topic alias"},
                    {point.receive_maximum > 0, MQCORE_FEATURE_RECEIVE_MAXIMUM, "Receive Maximum"}};
    for (const auto& [is_needed, feature, words] : features)
        if (is_needed && !(claims.features & feature))
            missing.emplace_back(words);
    if (publishes(point.kind) && claims.max_window != 0 && point.window > claims.max_window)
        missing.push_back(
            fmt::format("a window of {} (it has at most {})", point.window, claims.max_window));
    return missing;
}

} // namespace mqcore::scenario
