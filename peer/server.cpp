#include "peer/server.hpp"

#include <asio/post.hpp>

#include <chrono>
#include <fmt/format.h>

namespace mqcore::peer {
namespace {

constexpr auto kLookAround = std::chrono::milliseconds(100);

} // namespace

Server::Server(asio::io_context& io, measure::PeerSpec spec, EventOut out)
    : Party(std::move(out)), io_(io), spec_(std::move(spec)),
      behaviour_(spec_.behaviour.value_or(measure::ServerBehaviour{})), acceptor_(io),
      look_around_timer_(io) {}

void Server::listen() {
    const std::string host = spec_.endpoint.host.empty() ? "127.0.0.1" : spec_.endpoint.host;
    asio::error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (error || !address.is_loopback())
        return say_failed(
            {support::ErrorCode::wrong_input,
             fmt::format("the server listens on loopback addresses alone, not on '{}'", host),
             {}});
    const asio::ip::tcp::endpoint endpoint(address, spec_.endpoint.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error)
        acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
        acceptor_.bind(endpoint, error);
    if (!error)
        acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return say_failed(
            {support::ErrorCode::host,
             fmt::format("cannot listen on {}: {}", print_address(endpoint), error.message()),
             {}});
    accept();
    look_around();
    say({{"event", "listening"},
         {"port", acceptor_.local_endpoint().port()},
         {"receive_maximum",
          behaviour_.receive_maximum ? behaviour_.receive_maximum : kDefaultReceiveMaximum}});
}

void Server::accept() {
    is_accepting_ = true;
    acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
        is_accepting_ = false;
        if (error)
            return; // out of descriptors, or the client gave up first: look_around() tries again
        take(Link(Link::Socket(std::move(socket))));
        accept();
    });
}

void Server::take(Link link) {
    const measure::Endpoint& endpoint = spec_.endpoint;
    if (endpoint.certificate_file.empty())
        return serve(std::move(link));
    const auto at = handshakes_.insert(handshakes_.end(), std::move(link));
    at->accept_tls(endpoint.certificate_file, endpoint.key_file,
                   [this, at](const support::Result<void>& done) {
                       // The link calls from inside itself: it is moved or dropped afterwards.
                       asio::post(io_, [this, at, is_secure = bool(done)] {
                           Link secured = std::move(*at);
                           handshakes_.erase(at);
                           if (is_secure)
                               serve(std::move(secured));
                       });
                   });
}

void Server::serve(Link link) {
    ServerSide& side = *this;
    clients_.push_back(std::make_unique<ServedClient>(io_, std::move(link), behaviour_, side,
                                                      clients_.size() + 1));
}

void Server::look_around() {
    look_around_timer_.expires_after(kLookAround);
    look_around_timer_.async_wait([this](const asio::error_code& error) {
        if (error)
            return;
        const Nanoseconds now = support::now_ns();
        for (const auto& client : clients_)
            client->close_if_silent(now);
        if (!is_accepting_ && acceptor_.is_open())
            accept();
        look_around();
    });
}

void Server::route(ServedClient& from, const PublishView& publish, Nanoseconds) {
    for (const auto& client : clients_)
        if (client->is_connected())
            client->offer(from, publish);
}

void Server::take_over(const ServedClient& newcomer) {
    constexpr std::uint8_t kSessionTakenOver = 0x8E;
    for (const auto& client : clients_)
        if (client.get() != &newcomer && client->is_connected() &&
            client->client_id() == newcomer.client_id())
            client->close("another connection took over its client id", kSessionTakenOver);
}

void Server::turn_ended() {
    for (const auto& client : clients_)
        client->flush();
}

void Server::report() {
    std::size_t open = 0;
    support::JsonArray connections;
    for (const auto& client : clients_) {
        open += client->is_connected();
        connections.push_back(client->report());
    }
    say({{"event", "report"}, {"open", open}, {"connections", std::move(connections)}});
}

void Server::finish() {
    constexpr std::uint8_t kServerShuttingDown = 0x8B;
    asio::error_code ignored;
    acceptor_.close(ignored);
    for (const auto& client : clients_)
        client->close("the server was told to finish", kServerShuttingDown);
}

} // namespace mqcore::peer
