#include "peer/client_party.hpp"

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
    schedule_ = schedule;
    is_driving_ = true;
    begin(schedule);
    end_timer_.expires_at(time_point_of(schedule.end()));
    end_timer_.async_wait([this](const asio::error_code& error) {
        if (!error)
            end_drive();
    });
}

void ClientParty::end_drive() {
    is_driving_ = false;
    say({{"event", "driven"},
         {"report", JsonObject{{"send", send_report()}, {"receive", receive_report()}}}});
}

} // namespace mqcore::peer
