#include "peer/link.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <vector>

namespace mqcore::peer {
namespace {

using State = IoResult::State;

// The kernel would buffer megabytes that the other side has no room for yet; messages must not age
// there, so it takes no more than this beyond the receiver's window.
constexpr int kMostUnsentBytes = 128 * 1024;

using support::Error;
using support::ErrorCode;
using support::Result;

std::string last_ssl_error() {
    std::string text;
    while (const unsigned long code = ERR_get_error()) {
        char line[256];
        ERR_error_string_n(code, line, sizeof line);
        text += (text.empty() ? "" : "; ") + std::string(line);
    }
    return text.empty() ? "no reason given by OpenSSL" : text;
}

Error tls_error(std::string message) { return {ErrorCode::broker, std::move(message), {}}; }

// IPv6 literals stand in brackets in an address, not in a certificate or in getaddrinfo.
std::string without_brackets(const std::string& host) {
    return host.size() > 2 && host.front() == '[' && host.back() == ']'
               ? host.substr(1, host.size() - 2)
               : host;
}

std::string address_of(const sockaddr_storage& address, socklen_t size) {
    asio::ip::tcp::endpoint endpoint;
    if (size > endpoint.capacity() ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return "local socket";
    std::memcpy(endpoint.data(), &address, size);
    endpoint.resize(size);
    return print_address(endpoint);
}

} // namespace

Link::Link(Socket socket) : socket_(std::make_unique<Socket>(std::move(socket))) {
    asio::error_code ignored;
    socket_->non_blocking(true, ignored);
    // Both fail on a socketpair, which has no such options.
    const int on = 1;
    ::setsockopt(socket_->native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_->native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostUnsentBytes,
                 sizeof kMostUnsentBytes);
}

Link::~Link() = default;

IoResult Link::read_some(std::span<std::uint8_t> into) {
    if (ssl_) {
        ERR_clear_error();
        const int limit = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
        return tls_result(SSL_read(ssl_.get(), into.data(), limit));
    }
    for (;;) {
        const ssize_t got = ::recv(socket_->native_handle(), into.data(), into.size(), 0);
        if (got > 0)
            return {State::done, static_cast<std::size_t>(got)};
        if (got == 0) {
            error_text_ = "end of stream";
            return {State::closed, 0};
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return {State::would_block, 0};
        if (errno == EINTR)
            continue;
        error_text_ = std::strerror(errno);
        return {State::failed, 0};
    }
}

IoResult Link::write_some(Bytes bytes) {
    if (ssl_) {
        ERR_clear_error();
        const int limit = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
        return tls_result(SSL_write(ssl_.get(), bytes.data(), limit));
    }
    for (;;) {
        const ssize_t written =
            ::send(socket_->native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (written >= 0)
            return {State::done, static_cast<std::size_t>(written)};
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return {State::would_block, 0};
        if (errno == EINTR)
            continue;
        error_text_ = std::strerror(errno);
        return {State::failed, 0};
    }
}

// TLS 1.3 has no renegotiation and we never start one, so a read that wants to write (or the
// reverse) happens in the handshake alone: afterwards both mean "try again when ready".
IoResult Link::tls_result(int returned) {
    if (returned > 0)
        return {State::done, static_cast<std::size_t>(returned)};
    const int saved_errno = errno;
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return {State::would_block, 0};
    case SSL_ERROR_ZERO_RETURN:
        error_text_ = "TLS close notify";
        return {State::closed, 0};
    case SSL_ERROR_SYSCALL:
        if (saved_errno == 0 || returned == 0) {
            error_text_ = "end of stream without TLS close notify";
            return {State::closed, 0};
        }
        error_text_ = std::strerror(saved_errno);
        return {State::failed, 0};
    default:
        error_text_ = last_ssl_error();
        return {State::failed, 0};
    }
}

void Link::when_readable(std::function<void()> handler) {
    socket_->async_wait(Socket::wait_read,
                        [handler = std::move(handler)](const asio::error_code& error) {
                            if (!error)
                                handler();
                        });
}

void Link::when_writable(std::function<void()> handler) {
    socket_->async_wait(Socket::wait_write,
                        [handler = std::move(handler)](const asio::error_code& error) {
                            if (!error)
                                handler();
                        });
}

void Link::close() {
    asio::error_code ignored;
    if (socket_)
        socket_->close(ignored);
}

void Link::start_tls(const std::string& ca_file, const std::string& host,
                     std::function<void(Result<void>)> done) {
    const std::string name = without_brackets(host);
    if (!make_context(TLS_client_method()))
        return done(tls_error("TLS cannot be set up: " + last_ssl_error()));
    if (SSL_CTX_load_verify_locations(ssl_context_.get(), ca_file.c_str(), nullptr) != 1)
        return done(tls_error(
            fmt::format("the CA file '{}' cannot be used: {}", ca_file, last_ssl_error())));
    SSL_CTX_set_verify(ssl_context_.get(), SSL_VERIFY_PEER, nullptr);
    if (!make_session())
        return done(tls_error("TLS cannot be set up: " + last_ssl_error()));
    X509_VERIFY_PARAM* checks = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(checks, name.c_str()) != 1) {
        ERR_clear_error(); // not an address, so a name
        X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (SSL_set1_host(ssl_.get(), name.c_str()) != 1 ||
            SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) != 1)
            return done(tls_error(fmt::format("'{}' cannot be verified as a TLS host name: {}",
                                              name, last_ssl_error())));
    }
    SSL_set_connect_state(ssl_.get());
    handshake(std::move(done));
}

void Link::accept_tls(const std::string& certificate_file, const std::string& key_file,
                      std::function<void(Result<void>)> done) {
    if (!make_context(TLS_server_method()) ||
        SSL_CTX_use_certificate_chain_file(ssl_context_.get(), certificate_file.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(ssl_context_.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
        !make_session())
        return done(tls_error("TLS cannot be set up: " + last_ssl_error()));
    SSL_set_accept_state(ssl_.get());
    handshake(std::move(done));
}

bool Link::make_context(const SSL_METHOD* method) {
    ssl_context_.reset(SSL_CTX_new(method));
    if (!ssl_context_ || !SSL_CTX_set_min_proto_version(ssl_context_.get(), TLS1_2_VERSION))
        return false;
    SSL_CTX_set_mode(ssl_context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

bool Link::make_session() {
    ssl_.reset(SSL_new(ssl_context_.get()));
    return ssl_ && SSL_set_fd(ssl_.get(), socket_->native_handle()) == 1;
}

void Link::handshake(std::function<void(Result<void>)> done) {
    ERR_clear_error();
    errno = 0;
    const int returned = SSL_do_handshake(ssl_.get());
    if (returned == 1)
        return done({});
    const int saved_errno = errno;
    const auto again = [this, done] { handshake(done); };
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
        return when_readable(again);
    case SSL_ERROR_WANT_WRITE:
        return when_writable(again);
    default:
        break;
    }
    std::string reason = last_ssl_error();
    if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
        reason = fmt::format("{} ({})", X509_verify_cert_error_string(verdict), reason);
    else if (saved_errno != 0)
        reason = std::strerror(saved_errno);
    done(tls_error("the TLS handshake failed: " + reason));
}

bool Link::has_tcp_nodelay() const {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(socket_->native_handle(), IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0 &&
           value != 0;
}

std::string Link::local_address() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(socket_->native_handle(), reinterpret_cast<sockaddr*>(&address), &size);
    return address_of(address, size);
}

std::string Link::remote_address() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getpeername(socket_->native_handle(), reinterpret_cast<sockaddr*>(&address), &size);
    return address_of(address, size);
}

support::Json Link::tls_facts() const {
    if (!ssl_)
        return nullptr;
    return support::JsonObject{{"version", SSL_get_version(ssl_.get())},
                               {"cipher", SSL_get_cipher_name(ssl_.get())},
                               {"resumed", SSL_session_reused(ssl_.get()) == 1}};
}

struct TcpConnect::State : std::enable_shared_from_this<State> {
    State(asio::io_context& context, std::string name, std::uint16_t number,
          std::function<void(Result<Link>)> callback)
        : io(context), resolver(context), socket(context), host(std::move(name)), port(number),
          done(std::move(callback)) {}

    void resolve() {
        const std::string name = without_brackets(host);
        asio::error_code no_address;
        if (const auto address = asio::ip::make_address(name, no_address); !no_address) {
            endpoints.emplace_back(address, port);
            return try_next();
        }
        resolver.async_resolve(
            name, std::to_string(port), asio::ip::tcp::resolver::numeric_service,
            [self = shared_from_this()](const asio::error_code& error,
                                        asio::ip::tcp::resolver::results_type results) {
                if (self->is_abandoned)
                    return;
                if (error)
                    return self->finish(Error{
                        ErrorCode::broker,
                        fmt::format("'{}' cannot be resolved: {}", self->host, error.message()),
                        {}});
                for (const auto& entry : results)
                    self->endpoints.push_back(entry.endpoint());
                self->try_next();
            });
    }

    void try_next() {
        if (next == endpoints.size())
            return finish(
                Error{ErrorCode::broker,
                      fmt::format("no connection to '{}' port {}; tried {}", host, port, tried()),
                      "is the broker running and listening there?"});
        asio::error_code ignored;
        socket.close(ignored);
        socket.async_connect(
            endpoints[next], [self = shared_from_this()](const asio::error_code& error) {
                if (self->is_abandoned)
                    return;
                if (!error)
                    return self->finish(Link(Link::Socket(std::move(self->socket))));
                self->outcomes.push_back(error.message());
                ++self->next;
                self->try_next();
            });
    }

    std::string tried() const {
        std::string text;
        for (std::size_t at = 0; at < endpoints.size() && at <= next; ++at)
            text += fmt::format("{}{} ({})", at ? ", " : "", print_address(endpoints[at]),
                                at < outcomes.size() ? outcomes[at] : "no answer yet");
        return text.empty() ? "no address, the name was not resolved" : text;
    }

    void finish(Result<Link> result) { std::exchange(done, nullptr)(std::move(result)); }

    asio::io_context& io;
    asio::ip::tcp::resolver resolver;
    asio::ip::tcp::socket socket;
    std::string host;
    std::uint16_t port;
    std::function<void(Result<Link>)> done;
    std::vector<asio::ip::tcp::endpoint> endpoints;
    std::vector<std::string> outcomes; // of the endpoints tried so far
    std::size_t next = 0;
    bool is_abandoned = false;
};

TcpConnect::TcpConnect(asio::io_context& io, std::string host, std::uint16_t port,
                       std::function<void(Result<Link>)> done)
    : state_(std::make_shared<State>(io, std::move(host), port, std::move(done))) {
    state_->resolve();
}

TcpConnect::~TcpConnect() {
    state_->is_abandoned = true;
    asio::error_code ignored;
    state_->socket.close(ignored);
    state_->resolver.cancel();
}

std::string TcpConnect::tried() const { return state_->tried(); }

std::string print_address(const asio::ip::tcp::endpoint& endpoint) {
    const std::string address = endpoint.address().to_string();
    return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                      : fmt::format("{}:{}", address, endpoint.port());
}

} // namespace mqcore::peer
