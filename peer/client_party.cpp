#include "peer/client_party.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::peer {

using support::JsonArray;

ClientParty::ClientParty(asio::io_context& io, measure::PeerSpec spec, EventOut out)
    : Party(std::move(out)), io_(io), spec_(std::move(spec)), client_(io, spec_.endpoint, *this),
      end_timer_(io) {}

void ClientParty::connect() {
    std::vector<std::string> filters;
    std::uint8_t qos = 0;
    if (spec_.receive) {
        filters = spec_.receive->filters;
        qos = static_cast<std::uint8_t>(spec_.receive->qos);
    }
    client_.connect(std::move(filters), qos,
                    [this](support::Result<ConnectedFacts> facts) { connected(std::move(facts)); });
}

void ClientParty::connected(support::Result<ConnectedFacts> facts) {
    if (!facts)
        return say_failed(facts.error());
    facts_ = std::move(facts).value();
    is_connected_ = true;
    for (std::size_t at = 0; at < facts_.granted_qos.size() && needs_all_subscriptions(); ++at)
        if (is_failure(facts_.granted_qos[at]))
            return say_failed({support::ErrorCode::broker,
                               fmt::format("the broker at {} refused the subscription to '{}': {}",
                                           facts_.remote_address, spec_.receive->filters[at],
                                           describe_reason(facts_.granted_qos[at])),
                               {}});
    say({{"event", "connected"},
         {"connect_ns", facts_.connect_ns},
         {"tcp_nodelay", facts_.has_tcp_nodelay},
         {"local", facts_.local_address},
         {"remote", facts_.remote_address},
         {"session_present", facts_.is_session_present},
         {"receive_maximum", facts_.receive_maximum},
         {"granted_qos", JsonArray(facts_.granted_qos.begin(), facts_.granted_qos.end())},
         {"tls", facts_.tls}});
}

void ClientParty::drive(const measure::Schedule& schedule) {
    if (!is_connected_ || std::exchange(is_driven_, true))
        return say_failed({support::ErrorCode::internal,
                           is_connected_ ? "'drive' a second time" : "'drive' before 'connected'",
                           {}});
    if (const std::string reason = reason_not_to_send(); !reason.empty())
        return say_failed({support::ErrorCode::broker, reason, {}});
    schedule_ = schedule;
    begin(schedule);
    end_timer_.expires_at(time_point_of(schedule.end()));
    end_timer_.async_wait([this](const asio::error_code& error) {
        if (!error)
            end_drive();
    });
}

// What the server has announced that it will not take (5 sections 3.2.2.3.4 and 3.2.2.3.6).
std::string ClientParty::reason_not_to_send() const {
    if (!spec_.send)
        return {};
    const measure::SendSpec& send = *spec_.send;
    if (send.qos > facts_.maximum_qos)
        return fmt::format("the broker at {} takes QoS {} at most, QoS {} is asked for",
                           facts_.remote_address, facts_.maximum_qos, send.qos);
    constexpr std::size_t kOtherFields = 1 + 4 + 2 + 2 + 1; // header, topic length, id, properties
    std::size_t topic_bytes = 0;
    for (const std::string& topic : send.topics)
        topic_bytes = std::max(topic_bytes, topic.size());
    for (const std::uint32_t payload_bytes : send.payload_bytes)
        if (kOtherFields + topic_bytes + payload_bytes > facts_.maximum_packet_bytes)
            return fmt::format(
                "the broker at {} takes packets of {} bytes at most, a payload of {} "
                "bytes is asked for",
                facts_.remote_address, facts_.maximum_packet_bytes, payload_bytes);
    return {};
}

void ClientParty::adopt(Link link) {
    client_.adopt(std::move(link));
    is_connected_ = true;
}

void ClientParty::end_drive() {
    say({{"event", "driven"},
         {"report", JsonObject{{"send", send_report()}, {"receive", receive_report()}}}});
}

} // namespace mqcore::peer
