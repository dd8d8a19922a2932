#pragma once
// Parties and servers of one test in one event loop, over real loopback sockets; and a raw other side
// that says what a test tells it to, to the byte.

#include "packets.hpp"
#include "peer/client_party.hpp"
#include "support/catch.hpp"
#include "support/clock.hpp"
#include "support/json.hpp"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace mqcore::peer::tests {

using support::kMillisecond;

class Stage {
  public:
    // One party with the events it has said so far.
    struct Actor {
        std::deque<JsonObject> events;
        std::unique_ptr<Party> party;
    };

    asio::io_context io{1};

    Actor& add(measure::PeerSpec spec) {
        actors_.push_back(std::make_unique<Actor>());
        Actor& actor = *actors_.back();
        auto party = make_party(io, std::move(spec), [&actor](JsonObject event) {
            actor.events.push_back(std::move(event));
        });
        REQUIRE(party);
        actor.party = std::move(party).value();
        return actor;
    }

    // Runs the loop until the condition holds, at most five seconds.
    bool run_until(const std::function<bool()>& holds) {
        const Nanoseconds deadline = support::now_ns() + 5 * support::kSecond;
        while (!holds()) {
            if (support::now_ns() > deadline)
                return false;
            io.restart();
            io.run_one_for(std::chrono::milliseconds(10));
        }
        return true;
    }

    // Runs what is ready: the handlers of an object that goes away.
    void settle() {
        io.restart();
        io.poll();
    }

    // The actor's next event, which must be this one.
    JsonObject expect(Actor& actor, std::string_view event) {
        REQUIRE(run_until([&] { return !actor.events.empty(); }));
        JsonObject said = std::move(actor.events.front());
        actor.events.pop_front();
        INFO(support::print_json(said));
        REQUIRE(support::text_or(said, "event", "") == event);
        return said;
    }

    Actor& listening(const measure::ServerBehaviour& behaviour) {
        Actor& server = add({.role = measure::PeerRole::server,
                             .endpoint = {},
                             .send = {},
                             .receive = {},
                             .behaviour = behaviour});
        server.party->listen();
        port = static_cast<std::uint16_t>(
            support::unsigned_or(expect(server, "listening"), "port", 0));
        return server;
    }

    measure::Endpoint endpoint(Protocol protocol, std::string client_id) const {
        return {.host = "127.0.0.1",
                .port = port,
                .ca_file = {},
                .protocol = protocol,
                .client_id = std::move(client_id)};
    }

    Actor& connected(measure::PeerSpec spec) {
        Actor& actor = add(std::move(spec));
        actor.party->connect();
        connected_event = expect(actor, "connected");
        return actor;
    }

    // "failed" with a reason that contains the text.
    void expect_failure(Actor& actor, std::string_view text) {
        const JsonObject failed = expect(actor, "failed");
        const std::string reason = support::text_or(failed, "reason", "");
        INFO(reason);
        REQUIRE(reason.find(text) != std::string::npos);
    }

    std::uint16_t port = 0;
    JsonObject connected_event;

  private:
    std::vector<std::unique_ptr<Actor>> actors_;
};

inline measure::SendSpec send_spec(std::uint32_t qos, std::optional<std::uint64_t> limit) {
    return {.topics = {"mq/a", "mq/b"},
            .payload_bytes = {256, 64},
            .qos = qos,
            .rate = std::nullopt,
            .window = 16,
            .tag = 7,
            .limit = limit};
}
inline measure::ReceiveSpec receive_spec(std::uint32_t qos) {
    return {.filters = {"mq/#"},
            .qos = qos,
            .tag = 7,
            .payload_bytes = {256, 64},
            .rate = std::nullopt};
}
inline measure::Schedule short_schedule() {
    return {.start_ns = support::now_ns() + 5 * kMillisecond,
            .warmup_ns = 0,
            .window_ns = 120 * kMillisecond,
            .drain_ns = 100 * kMillisecond};
}

// A broker that speaks only when and what the test says: it accepts one connection, and appends what
// it reads to `heard`.
class RawBroker {
  public:
    explicit RawBroker(Stage& stage)
        : stage_(stage),
          acceptor_(stage.io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          socket_(stage.io) {
        stage.port = acceptor_.local_endpoint().port();
        acceptor_.async_accept(socket_, [this](const asio::error_code& error) {
            if (!error)
                read();
        });
    }

    ~RawBroker() {
        acceptor_.close();
        socket_.close();
        stage_.settle();
    }

    void say(const Octets& bytes) { asio::write(socket_, asio::buffer(bytes)); }
    void hang_up() { socket_.close(); }
    bool has_heard(std::size_t bytes) const { return heard.size() >= bytes; }

    Octets heard;

  private:
    void read() {
        socket_.async_read_some(asio::buffer(block_),
                                [this](const asio::error_code& error, std::size_t got) {
                                    if (error)
                                        return;
                                    heard.insert(heard.end(), block_, block_ + got);
                                    read();
                                });
    }

    Stage& stage_;
    asio::ip::tcp::acceptor acceptor_;
    asio::ip::tcp::socket socket_;
    std::uint8_t block_[4096];
};

// Two links that are each other's other side.
inline std::pair<Link, Link> link_pair(asio::io_context& io) {
    asio::local::stream_protocol::socket one(io), other(io);
    asio::local::connect_pair(one, other);
    return {Link(Link::Socket(std::move(one))), Link(Link::Socket(std::move(other)))};
}

} // namespace mqcore::peer::tests
