#include "conformance/server.hpp"

#include "support/unique_fd.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>

namespace mqcore::conformance {
namespace {

using support::JsonObject;
using support::now_ns;

std::unique_ptr<session::Child> start_peer(Bench& bench, const char* name) {
    auto peer = bench.supervisor().start({.name = name,
                                          .party = "peer",
                                          .program = bench.options().peer_program,
                                          .arguments = {},
                                          .cpus = {},
                                          .log_file = bench.log_file(),
                                          .environment = {}});
    if (peer)
        return *std::move(peer);
    bench.break_down(peer.error());
    return nullptr;
}

// The awaited event. Nothing: it did not come; the bench is broken unless it was the driver that
// ended, which shows at the next step of its trial.
std::optional<Json> answer(Bench& bench, session::Child* peer, const Json& order,
                           std::string_view event, Nanoseconds limit_ns) {
    if (!peer)
        return std::nullopt;
    peer->tell(order);
    session::Reply reply = bench.supervisor().expect(*peer, event, now_ns() + limit_ns);
    if (reply)
        return std::move(reply.event);
    if (reply.failure->party != "client")
        bench.break_down({reply.failure->party == "user" ? support::ErrorCode::interrupted
                                                         : support::ErrorCode::peer,
                          reply.failure->reason,
                          {}});
    return std::nullopt;
}

} // namespace

Server::Server(Bench& bench, const measure::ServerBehaviour& behaviour)
    : bench_(bench), process_(start_peer(bench, "server")) {
    const measure::PeerSpec spec{.role = measure::PeerRole::server,
                                 .endpoint = {},
                                 .send = std::nullopt,
                                 .receive = std::nullopt,
                                 .behaviour = behaviour};
    if (const auto listening = answer(
            bench, process_.get(), JsonObject{{"do", "listen"}, {"spec", measure::to_json(spec)}},
            "listening", bench.options().patience_ns))
        port_ = static_cast<std::uint16_t>(support::unsigned_or(*listening, "port", 0));
}

Json Server::connections() {
    const auto report = answer(bench_, process_.get(), JsonObject{{"do", "report"}}, "report",
                               bench_.options().patience_ns);
    const Json* connections = report ? support::find(*report, "connections") : nullptr;
    return connections ? *connections : Json(nullptr);
}

Json Server::connection(std::string_view client_id) {
    const Json all = connections();
    if (all.is_array())
        for (const Json& connection : all.get_array())
            if (support::text_or(connection, "client_id", "") == client_id)
                return connection;
    return nullptr;
}

Neighbour::Neighbour(Bench& bench, measure::PeerSpec spec, std::uint16_t port)
    : bench_(bench), process_(start_peer(bench, "peer")) {
    spec.endpoint = {.host = "127.0.0.1",
                     .port = port,
                     .ca_file = {},
                     .protocol = spec.endpoint.protocol,
                     .client_id = "mqcore-check-peer"};
    answer(bench, process_.get(), JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec)}},
           "connected", bench.options().patience_ns);
}

void Neighbour::drive(const measure::Schedule& schedule) {
    schedule_ = schedule;
    if (process_)
        process_->tell(JsonObject{{"do", "drive"}, {"schedule", measure::to_json(schedule)}});
}

Json Neighbour::report() {
    if (!process_)
        return nullptr;
    session::Reply reply = bench_.supervisor().expect(
        *process_, "driven", std::max(schedule_.end(), now_ns()) + bench_.options().patience_ns);
    if (!reply) {
        if (reply.failure->party != "client")
            bench_.break_down({support::ErrorCode::peer, reply.failure->reason, {}});
        return nullptr;
    }
    const Json* report = support::find(reply.event, "report");
    return report ? *report : Json(nullptr);
}

std::uint16_t closed_port(Bench& bench) {
    const support::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
        bench.break_down({support::ErrorCode::host,
                          fmt::format("no free port on loopback: {}", std::strerror(errno)),
                          {}});
    return ntohs(address.sin_port);
}

} // namespace mqcore::conformance
