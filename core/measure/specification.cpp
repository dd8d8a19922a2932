#include "measure/specification.hpp"

#include <algorithm>
#include <span>

namespace mqcore::measure {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;

Json optional_number(const auto& value) { return value ? Json(*value) : Json(nullptr); }

Json texts(const std::vector<std::string>& values) {
    JsonArray array;
    for (const std::string& value : values)
        array.emplace_back(value);
    return array;
}

std::vector<std::string> texts_from(const Json& json, std::string_view key) {
    std::vector<std::string> values;
    if (const Json* array = support::find(json, key); array && array->is_array())
        for (const Json& item : array->get_array())
            if (item.is_string())
                values.emplace_back(item.get_string());
    return values;
}

Json lengths(const std::vector<std::uint32_t>& values) {
    return JsonArray(values.begin(), values.end());
}

std::vector<std::uint32_t> lengths_from(const Json& json, std::string_view key) {
    std::vector<std::uint32_t> values;
    if (const Json* array = support::find(json, key); array && array->is_array())
        for (const Json& item : array->get_array())
            values.push_back(item.to_number<std::uint32_t>());
    return values;
}

std::optional<double> rate_from(const Json& json) {
    const double rate = support::number_or(json, "rate", 0);
    return rate > 0 ? std::optional(rate) : std::nullopt;
}

std::uint32_t small_or(const Json& json, std::string_view key, std::uint32_t fallback) {
    return static_cast<std::uint32_t>(support::unsigned_or(json, key, fallback));
}

Json to_json(const Endpoint& endpoint) {
    return JsonObject{{"host", endpoint.host},
                      {"port", endpoint.port},
                      {"ca_file", endpoint.ca_file},
                      {"certificate_file", endpoint.certificate_file},
                      {"key_file", endpoint.key_file},
                      {"protocol", name_of(endpoint.protocol)},
                      {"client_id", endpoint.client_id},
                      {"keepalive_s", endpoint.keepalive_s},
                      {"receive_maximum", endpoint.receive_maximum}};
}

Endpoint endpoint_from(const Json& json) {
    return {.host = support::text_or(json, "host", ""),
            .port = static_cast<std::uint16_t>(small_or(json, "port", 0)),
            .ca_file = support::text_or(json, "ca_file", ""),
            .certificate_file = support::text_or(json, "certificate_file", ""),
            .key_file = support::text_or(json, "key_file", ""),
            .protocol =
                protocol_of(support::text_or(json, "protocol", "3.1.1")).value_or(Protocol::v311),
            .client_id = support::text_or(json, "client_id", ""),
            .keepalive_s = small_or(json, "keepalive_s", 60),
            .receive_maximum = small_or(json, "receive_maximum", 0)};
}

Json to_json(const PublishProperties& properties) {
    JsonArray user;
    for (const auto& [name, value] : properties.user)
        user.push_back(JsonArray{name, value});
    return JsonObject{{"content_type", properties.content_type},
                      {"response_topic", properties.response_topic},
                      {"correlation_data", properties.correlation_data},
                      {"user", std::move(user)}};
}

PublishProperties properties_from(const Json& json) {
    const Json* properties = support::find(json, "properties");
    if (!properties || !properties->is_object())
        return {};
    PublishProperties read{.content_type = support::text_or(*properties, "content_type", ""),
                           .response_topic = support::text_or(*properties, "response_topic", ""),
                           .correlation_data =
                               support::text_or(*properties, "correlation_data", "")};
    if (const Json* user = support::find(*properties, "user"); user && user->is_array())
        for (const Json& pair : user->get_array())
            read.user.emplace_back(pair.at(0).as_string(), pair.at(1).as_string());
    return read;
}

Json to_json(const SendSpec& send) {
    return JsonObject{{"topics", texts(send.topics)},
                      {"payload_bytes", lengths(send.payload_bytes)},
                      {"qos", send.qos},
                      {"rate", optional_number(send.rate)},
                      {"pacing", name_of(send.pacing)},
                      {"window", send.window},
                      {"tag", send.tag},
                      {"limit", optional_number(send.limit)},
                      {"properties", to_json(send.properties)},
                      {"topic_alias", send.topic_alias}};
}

std::optional<SendSpec> send_from(const Json& json) {
    const Json* send = support::find(json, "send");
    if (!send || !send->is_object())
        return std::nullopt;
    const std::uint64_t limit = support::unsigned_or(*send, "limit", 0);
    return SendSpec{.topics = texts_from(*send, "topics"),
                    .payload_bytes = lengths_from(*send, "payload_bytes"),
                    .qos = small_or(*send, "qos", 0),
                    .rate = rate_from(*send),
                    .pacing =
                        pacing_of(support::text_or(*send, "pacing", "tick")).value_or(Pacing::tick),
                    .window = small_or(*send, "window", 64),
                    .tag = small_or(*send, "tag", 0),
                    .limit = limit ? std::optional(limit) : std::nullopt,
                    .properties = properties_from(*send),
                    .topic_alias = static_cast<std::uint16_t>(small_or(*send, "topic_alias", 0))};
}

Json to_json(const ReceiveSpec& receive) {
    return JsonObject{{"filters", texts(receive.filters)},
                      {"qos", receive.qos},
                      {"tag", receive.tag},
                      {"payload_bytes", lengths(receive.payload_bytes)},
                      {"rate", optional_number(receive.rate)},
                      {"properties", to_json(receive.properties)},
                      {"topics", receive.topics}};
}

std::optional<ReceiveSpec> receive_from(const Json& json) {
    const Json* receive = support::find(json, "receive");
    if (!receive || !receive->is_object())
        return std::nullopt;
    return ReceiveSpec{.filters = texts_from(*receive, "filters"),
                       .qos = small_or(*receive, "qos", 0),
                       .tag = small_or(*receive, "tag", 0),
                       .payload_bytes = lengths_from(*receive, "payload_bytes"),
                       .rate = rate_from(*receive),
                       .properties = properties_from(*receive),
                       .topics = small_or(*receive, "topics", 1)};
}

constexpr std::string_view kConnackAnswers[] = {"accept", "refuse", "never"};
constexpr std::string_view kSubackAnswers[] = {"grant", "refuse", "lower"};
constexpr std::string_view kPubackAnswers[] = {"normal", "withhold"};

// The enumerator at the place of its name; false: no such name.
template <class Answer>
bool answer_from(const Json& json, std::string_view key, std::span<const std::string_view> names,
                 Answer& answer) {
    const std::string word = support::text_or(json, key, names.front());
    const auto name = std::ranges::find(names, word);
    answer = static_cast<Answer>(name - names.begin());
    return name != names.end();
}

std::optional<std::uint64_t> count_from(const Json& json, std::string_view key) {
    const Json* count = support::find(json, key);
    return count && count->is_number() ? std::optional(support::unsigned_or(json, key, 0))
                                       : std::nullopt;
}

Json to_json(const ServerBehaviour& behaviour) {
    return JsonObject{{"connack", name_of(behaviour.connack)},
                      {"connack_code", behaviour.connack_code},
                      {"connack_delay_ms", behaviour.connack_delay_ms},
                      {"suback", name_of(behaviour.suback)},
                      {"suback_delay_ms", behaviour.suback_delay_ms},
                      {"puback", name_of(behaviour.puback)},
                      {"stop_reading_after", optional_number(behaviour.stop_reading_after)},
                      {"drop_connection_after", optional_number(behaviour.drop_connection_after)},
                      {"receive_maximum", behaviour.receive_maximum}};
}

// A word it does not know is an Error: a test must not run with another behaviour than it asks for.
support::Result<ServerBehaviour> behaviour_from(const Json& json) {
    const ServerBehaviour normal;
    ServerBehaviour behaviour{.connack_code = small_or(json, "connack_code", normal.connack_code),
                              .connack_delay_ms = small_or(json, "connack_delay_ms", 0),
                              .suback_delay_ms = small_or(json, "suback_delay_ms", 0),
                              .stop_reading_after = count_from(json, "stop_reading_after"),
                              .drop_connection_after = count_from(json, "drop_connection_after"),
                              .receive_maximum = small_or(json, "receive_maximum", 0)};
    if (!answer_from(json, "connack", kConnackAnswers, behaviour.connack) ||
        !answer_from(json, "suback", kSubackAnswers, behaviour.suback) ||
        !answer_from(json, "puback", kPubackAnswers, behaviour.puback))
        return support::Error{support::ErrorCode::internal,
                              "server behaviour with an unknown 'connack', 'suback' or 'puback'",
                              {}};
    return behaviour;
}

Json optional_json(const auto& value) { return value ? to_json(*value) : Json(nullptr); }

} // namespace

std::string_view name_of(Protocol protocol) { return protocol == Protocol::v311 ? "3.1.1" : "5"; }

std::optional<Protocol> protocol_of(std::string_view name) {
    if (name == "3.1.1")
        return Protocol::v311;
    if (name == "5")
        return Protocol::v5;
    return std::nullopt;
}

constexpr std::pair<PeerRole, std::string_view> kPeerRoles[] = {
    {PeerRole::sink, "sink"},     {PeerRole::source, "source"}, {PeerRole::echo, "echo"},
    {PeerRole::duplex, "duplex"}, {PeerRole::probe, "probe"},   {PeerRole::server, "server"}};

std::string_view name_of(PeerRole role) {
    for (const auto& [value, name] : kPeerRoles)
        if (value == role)
            return name;
    return "";
}

std::optional<PeerRole> peer_role_of(std::string_view wanted) {
    for (const auto& [value, name] : kPeerRoles)
        if (name == wanted)
            return value;
    return std::nullopt;
}

std::string_view name_of(ConnackAnswer answer) {
    return kConnackAnswers[static_cast<std::size_t>(answer)];
}
std::string_view name_of(SubackAnswer answer) {
    return kSubackAnswers[static_cast<std::size_t>(answer)];
}
std::string_view name_of(PubackAnswer answer) {
    return kPubackAnswers[static_cast<std::size_t>(answer)];
}

Json to_json(const WorkerSpec& spec) {
    JsonArray options;
    for (const auto& [key, value] : spec.options)
        options.push_back(JsonArray{key, value});
    return JsonObject{
        {"driver_file", spec.driver_file},        {"driver_folder", spec.driver_folder},
        {"environment", spec.environment},        {"endpoint", to_json(spec.endpoint)},
        {"connections", spec.connections},        {"send", optional_json(spec.send)},
        {"receive", optional_json(spec.receive)}, {"options", std::move(options)}};
}

support::Result<WorkerSpec> worker_spec_from_json(const Json& json) {
    const Json* endpoint = support::find(json, "endpoint");
    if (!endpoint)
        return support::Error{
            support::ErrorCode::internal, "worker specification without 'endpoint'", {}};
    WorkerSpec spec{.driver_file = support::text_or(json, "driver_file", ""),
                    .driver_folder = support::text_or(json, "driver_folder", ""),
                    .environment = support::text_or(json, "environment", ""),
                    .endpoint = endpoint_from(*endpoint),
                    .connections = small_or(json, "connections", 1),
                    .send = send_from(json),
                    .receive = receive_from(json),
                    .options = {}};
    if (const Json* options = support::find(json, "options"); options && options->is_array())
        for (const Json& pair : options->get_array())
            spec.options.emplace_back(pair.at(0).as_string(), pair.at(1).as_string());
    return spec;
}

Json to_json(const PeerSpec& spec) {
    return JsonObject{{"role", name_of(spec.role)},
                      {"direct", spec.is_direct},
                      {"endpoint", to_json(spec.endpoint)},
                      {"send", optional_json(spec.send)},
                      {"receive", optional_json(spec.receive)},
                      {"behaviour", optional_json(spec.behaviour)}};
}

support::Result<PeerSpec> peer_spec_from_json(const Json& json) {
    const Json* endpoint = support::find(json, "endpoint");
    const auto role = peer_role_of(support::text_or(json, "role", ""));
    const bool listens = role == PeerRole::server || support::boolean_or(json, "direct", false);
    if (!role || (!endpoint && !listens))
        return support::Error{support::ErrorCode::internal,
                              "peer specification without 'endpoint' or with an unknown 'role'",
                              {}};
    PeerSpec spec{.role = *role,
                  .is_direct = support::boolean_or(json, "direct", false),
                  .endpoint = endpoint ? endpoint_from(*endpoint) : Endpoint{},
                  .send = send_from(json),
                  .receive = receive_from(json),
                  .behaviour = {}};
    if (const Json* behaviour = support::find(json, "behaviour");
        behaviour && behaviour->is_object()) {
        auto read = behaviour_from(*behaviour);
        if (!read)
            return read.error();
        spec.behaviour = *read;
    }
    return spec;
}

} // namespace mqcore::measure
