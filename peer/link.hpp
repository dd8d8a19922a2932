#pragma once
// One byte stream to the other side: TCP, or TLS over it. Reads and writes never block; readiness
// comes from asio. TCP_NODELAY is set on every TCP link and read back. One thread.

#include "peer/byte_queue.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <openssl/ssl.h>
#include <string>

namespace mqcore::peer {

struct IoResult {
    enum class State { done, would_block, closed, failed };
    State state = State::done;
    std::size_t bytes = 0;
};

class Link {
  public:
    using Socket = asio::generic::stream_protocol::socket;

    // Takes a connected stream socket: what connect_tcp() made, what a listener accepted, or one end
    // of a socketpair.
    explicit Link(Socket socket);
    ~Link();
    Link(Link&&) noexcept = default;
    Link& operator=(Link&&) noexcept = default;

    IoResult read_some(std::span<std::uint8_t> into);
    IoResult write_some(Bytes bytes);
    // Bytes that OpenSSL holds already: the socket would not announce them again.
    bool has_buffered_input() const { return ssl_ && SSL_pending(ssl_.get()) > 0; }
    // What the last `failed` or `closed` meant, for people.
    const std::string& error_text() const { return error_text_; }

    // Calls once when a read or a write may make progress; not at all when the link is closed first.
    void when_readable(std::function<void()> handler);
    void when_writable(std::function<void()> handler);
    void close();

    // Client side of TLS 1.2 or newer. The certificate must chain to a CA of `ca_file` and carry
    // `host` as a name or an address. Calls `done` with an Error or without.
    void start_tls(const std::string& ca_file, const std::string& host,
                   std::function<void(support::Result<void>)> done);

    // Server side of TLS 1.2 or newer, with a certificate chain and its key (PEM). As start_tls().
    void accept_tls(const std::string& certificate_file, const std::string& key_file,
                    std::function<void(support::Result<void>)> done);

    bool has_tcp_nodelay() const; // asked from the kernel, not remembered
    std::string local_address() const;
    std::string remote_address() const;
    support::Json tls_facts() const; // {"version", "cipher", "resumed"}, null on plain TCP

  private:
    struct SslDeleter {
        void operator()(SSL* ssl) const { SSL_free(ssl); }
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };

    bool make_context(const SSL_METHOD* method); // false: last_ssl_error() says why
    bool make_session();
    void handshake(std::function<void(support::Result<void>)> done);
    IoResult tls_result(int returned);

    std::unique_ptr<Socket> socket_;
    std::unique_ptr<SSL_CTX, SslDeleter> ssl_context_;
    std::unique_ptr<SSL, SslDeleter> ssl_;
    std::string error_text_;
};

// Resolves and tries each address in turn. The error says which addresses were tried and how each
// failed. The caller owns the deadline: destroying the object abandons the attempt.
class TcpConnect {
  public:
    TcpConnect(asio::io_context& io, std::string host, std::uint16_t port,
               std::function<void(support::Result<Link>)> done);
    ~TcpConnect();
    // "127.0.0.1:1883 (connection refused), [::1]:1883 (no answer yet)"
    std::string tried() const;

  private:
    struct State;
    std::shared_ptr<State> state_; // shared with the handlers in flight, which outlive this object
};

// "127.0.0.1:1883", "[::1]:1883"
std::string print_address(const asio::ip::tcp::endpoint& endpoint);

} // namespace mqcore::peer
