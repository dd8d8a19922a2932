#include "machine/sockets.hpp"

#include "support/catch.hpp"
#include "support/unique_fd.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace mqcore::machine;
using mqcore::support::UniqueFd;

namespace {

struct Connection {
    UniqueFd listener, client, server;
    std::uint16_t port = 0;
};

Connection connect_to_self() {
    Connection made;
    made.listener = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    REQUIRE(::bind(made.listener.get(), raw, length) == 0);
    REQUIRE(::listen(made.listener.get(), 4) == 0);
    REQUIRE(::getsockname(made.listener.get(), raw, &length) == 0);
    made.port = ntohs(address.sin_port);
    made.client = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(made.client.get(), raw, length) == 0);
    made.server = UniqueFd(::accept4(made.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(made.server);
    return made;
}

std::uint64_t received_at(std::uint16_t port) {
    const auto sockets = sockets_at_port(port);
    REQUIRE(sockets);
    std::uint64_t sum = 0;
    for (const TcpSocket& socket : *sockets)
        sum += socket.bytes_received;
    return sum;
}

} // namespace

TEST_CASE("a listening socket is found with its owner") {
    const Connection made = connect_to_self();
    const auto mine = is_listening(::getpid(), made.port);
    REQUIRE(mine);
    CHECK(*mine);
    const auto not_mine = is_listening(::getppid(), made.port);
    if (not_mine)
        CHECK_FALSE(*not_mine);
}

TEST_CASE("bytes that moved are seen from outside, and so is that nothing moves") {
    const Connection made = connect_to_self();
    const std::uint64_t before = received_at(made.port);
    CHECK(received_at(made.port) == before);
    REQUIRE(::send(made.client.get(), "hello", 5, 0) == 5);
    CHECK(received_at(made.port) == before + 5); // loopback delivers within send()
}

TEST_CASE("what a process's connections moved is counted in segments and bytes") {
    const Connection made = connect_to_self();
    const UniqueFd again(::dup(made.client.get())); // a second descriptor is no second connection
    const Connections before = connections_of(::getpid(), made.port);
    REQUIRE(before);
    REQUIRE(before->size() == 1);
    const int on = 1;
    ::setsockopt(made.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int i = 0; i < 3; ++i)
        REQUIRE(::send(made.client.get(), "hello", 5, 0) == 5);
    REQUIRE(::send(made.server.get(), "hi", 2, 0) == 2);
    const auto use = use_between(before, connections_of(::getpid(), made.port));
    REQUIRE(use);
    CHECK(use->connections == 1);
    CHECK(use->data_segments_out == 3);
    CHECK(use->data_segments_in == 1);
    CHECK(use->segments_out >= 3); // and acknowledgements
    CHECK(use->segments_in >= 1);
    CHECK(use->bytes_out == 15);
    CHECK(use->bytes_in == 2);
    CHECK(use->retransmitted == 0);
    CHECK(to_json(*use).at("bytes_out") == 15);
}

TEST_CASE(
    "a connection that ended meanwhile makes the traffic unknown; a new one is counted whole") {
    using Segments = TcpSocket::Segments;
    const TcpSocket early{.inode = 1,
                          .bytes_sent = 10,
                          .bytes_received = 0,
                          .segments = Segments{.out = 0xffff'fffe, .in = 4}};
    TcpSocket late = early;
    late.segments = Segments{.out = 3, .in = 4}; // wrapped around
    late.bytes_sent = 50;
    const TcpSocket fresh{.inode = 2, .bytes_sent = 7, .segments = Segments{.out = 2, .in = 1}};
    const auto use = [](std::vector<TcpSocket> before, std::vector<TcpSocket> after) {
        return use_between(Connections(std::move(before)), Connections(std::move(after)));
    };
    const auto both = use({early}, {late, fresh});
    REQUIRE(both);
    CHECK(both->connections == 2);
    CHECK(both->segments_out == 5 + 2);
    CHECK(both->segments_in == 0 + 1);
    CHECK(both->bytes_out == 40 + 7);

    const auto ended = use({early}, {fresh});
    REQUIRE_FALSE(ended);
    CHECK(ended.error().message == "a connection ended meanwhile and took its counts along");
    const auto old_kernel = use({TcpSocket{.inode = 1}}, {TcpSocket{.inode = 1}});
    REQUIRE_FALSE(old_kernel);
    CHECK(old_kernel.error().message == "the kernel is older than 4.6 and counts no segments");
}

TEST_CASE("a process without a connection has a reason, not 0 segments") {
    const Connection made = connect_to_self();
    const auto nothing = connections_of(::getpid(), static_cast<std::uint16_t>(1));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().message == "the process has no TCP socket at the broker's port");
    CHECK(use_between(nothing, connections_of(::getpid(), made.port)).error().message ==
          nothing.error().message);
}

TEST_CASE("TCP_NODELAY is what the socket has") {
    const Connection made = connect_to_self();
    const auto client_side = [&]() -> std::optional<bool> {
        const auto found = no_delay_of(::getpid(), made.port);
        if (!found)
            return std::nullopt; // this sandbox forbids pidfd_getfd; the reason is the error's text
        REQUIRE(found->size() == 2); // both ends are ours
        const auto end = std::ranges::find(*found, made.port, &NoDelay::remote_port);
        REQUIRE(end != found->end());
        return end->is_set;
    };
    const auto before = client_side();
    if (!before)
        return;
    CHECK_FALSE(*before);
    const int on = 1;
    ::setsockopt(made.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    CHECK(*client_side());
    // The borrowed descriptor is closed: the connection still ends when its owner closes it.
    ::shutdown(made.client.get(), SHUT_WR);
    char byte = 0;
    CHECK(::recv(made.server.get(), &byte, 1, 0) == 0);
}
