#include "session/broker.hpp"

#include "machine/mosquitto.hpp"
#include "machine/sockets.hpp"
#include "session/broker_template.hpp"
#include "session/tls_material.hpp"
#include "support/file.hpp"
#include "support/text.hpp"
#include "support/unique_fd.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

namespace mqcore::session {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorCode;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;
using support::Result;
using support::UniqueFd;

constexpr Nanoseconds kReadyLimit = 10 * kSecond;
constexpr Nanoseconds kReadyCheck = 2 * kMillisecond;
constexpr Nanoseconds kEndGrace = 500 * kMillisecond;
constexpr int kPortTries = 8; // another process may take a port between the look and the bind
constexpr int kConnectLimitMs = 3000;
constexpr std::uint16_t kPlainPort = 1883, kTlsPort = 8883; // registered with IANA

constexpr std::string_view kUrlForm =
    "write it as mqtt://HOST[:PORT] or mqtts://HOST[:PORT]; an IPv6 address stands in brackets: "
    "mqtt://[::1]:1883";

Result<std::uint16_t> free_port() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    if (!fd || ::bind(fd.get(), raw, length) != 0 || ::getsockname(fd.get(), raw, &length) != 0)
        return Error{ErrorCode::host,
                     fmt::format("no free port on 127.0.0.1: {}", std::strerror(errno)),
                     "'mqcore doctor' looks at ports"};
    return ntohs(address.sin_port);
}

bool accepts(const addrinfo& address, std::string& why) {
    const UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int failed = 0;
    if (!fd)
        failed = errno;
    else if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0)
        failed = errno;
    if (failed == EINPROGRESS) {
        pollfd waiting{fd.get(), POLLOUT, 0};
        socklen_t length = sizeof failed;
        if (::poll(&waiting, 1, kConnectLimitMs) != 1)
            failed = ETIMEDOUT;
        else
            ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &length);
    }
    why = failed ? std::strerror(failed) : "";
    return failed == 0;
}

// ------------------------------------------------------------------------------------ managed

class ManagedBroker final : public Broker {
  public:
    ManagedBroker(Supervisor& supervisor, ManagedBrokerOptions options,
                  machine::Mosquitto mosquitto, TempDir folder)
        : supervisor_(supervisor), options_(std::move(options)), mosquitto_(std::move(mosquitto)),
          folder_(std::move(folder)) {}
    ~ManagedBroker() override {
        if (child_)
            child_->end(kEndGrace);
    }

    std::optional<Listener> plain() const override { return plain_; }
    std::optional<Listener> tls() const override { return tls_; }
    const BrokerIdentity& identity() const override { return identity_; }
    Child* process() override { return child_.get(); }
    std::string why_no_process() const override { return {}; }
    Result<void> restart() override;

    Result<void> prepare();

  private:
    enum class Start { ready, port_taken };

    Result<Start> try_start(std::uint16_t plain_port, std::uint16_t tls_port);
    Result<bool> is_ready(std::uint16_t plain_port, std::uint16_t tls_port) const;
    Error start_error(const std::string& what) const;

    Supervisor& supervisor_;
    ManagedBrokerOptions options_;
    machine::Mosquitto mosquitto_;
    TempDir folder_;
    TlsMaterial material_;
    BrokerIdentity identity_;
    Listener plain_, tls_;
    std::unique_ptr<Child> child_;
    std::uintmax_t log_start_ = 0; // where this start's lines begin
};

Result<void> ManagedBroker::prepare() {
    auto material = make_tls_material(folder_.path());
    if (!material)
        return material.error();
    material_ = std::move(*material);
    auto binary = support::sha256_of_file(mosquitto_.program);
    identity_ = {.is_managed = true,
                 .version = mosquitto_.version,
                 .config_sha256 = support::sha256(kBrokerTemplate),
                 .binary_sha256 = binary ? *binary : "",
                 .config = std::string(kBrokerTemplate)};
    return restart();
}

Result<void> ManagedBroker::restart() {
    child_.reset();
    for (int attempt = 0; attempt < kPortTries; ++attempt) {
        const auto any_plain = free_port();
        const auto any_tls = free_port();
        if (!any_plain || !any_tls)
            return any_plain ? any_tls.error() : any_plain.error();
        const bool is_first = attempt == 0;
        const std::uint16_t plain_port =
            is_first && options_.first_plain_port ? options_.first_plain_port : *any_plain;
        const std::uint16_t tls_port =
            is_first && options_.first_tls_port ? options_.first_tls_port : *any_tls;
        if (plain_port == tls_port)
            continue;
        auto started = try_start(plain_port, tls_port);
        if (!started)
            return started.error();
        if (*started == Start::ready)
            return {};
        spdlog::debug("broker: port {} or {} was taken, trying others", plain_port, tls_port);
    }
    return start_error(fmt::format("found no two free ports in {} attempts", kPortTries));
}

Result<ManagedBroker::Start> ManagedBroker::try_start(std::uint16_t plain_port,
                                                      std::uint16_t tls_port) {
    // Started as root, Mosquitto becomes the user 'mosquitto', which may not read a key of root's
    // with mode 0600; and a change of user would cancel its death with mqcore (spawn.cpp).
    std::string config = support::replace_all(std::string(kBrokerTemplate), "@RUN_AS@",
                                              ::geteuid() == 0 ? "user root" : "");
    config = support::replace_all(std::move(config), "@PLAIN_PORT@", std::to_string(plain_port));
    config = support::replace_all(std::move(config), "@TLS_PORT@", std::to_string(tls_port));
    config = support::replace_all(std::move(config), "@FOLDER@", folder_.path().string());
    const fs::path file = folder_.path() / "mosquitto.conf";
    if (auto written = support::write_file_atomically(file, config); !written)
        return written.error();

    std::error_code no_log_yet;
    const std::uintmax_t size = fs::file_size(options_.log_file, no_log_yet);
    log_start_ = no_log_yet ? 0 : size;
    auto child = supervisor_.start({.name = "broker",
                                    .party = "broker",
                                    .program = mosquitto_.program,
                                    .arguments = {"-c", file.string()},
                                    .cpus = options_.cpus,
                                    .log_file = options_.log_file,
                                    .has_control_channel = false,
                                    .environment = {}});
    if (!child)
        return child.error();
    child_ = std::move(*child);

    const Nanoseconds deadline = now_ns() + kReadyLimit;
    while (now_ns() < deadline) {
        auto ready = is_ready(plain_port, tls_port);
        if (!ready)
            return ready.error();
        if (*ready) {
            plain_ = {.host = "127.0.0.1", .port = plain_port, .ca_file = {}};
            tls_ = {.host = "127.0.0.1", .port = tls_port, .ca_file = material_.ca_file.string()};
            return Start::ready;
        }
        if (supervisor_.wait_for_end(*child_, now_ns() + kReadyCheck)) {
            const std::string end = child_->how_it_ended();
            child_.reset();
            if (log_tail(options_.log_file).find("Address already in use") != std::string::npos)
                return Start::port_taken;
            return start_error(fmt::format("ended with {}", end));
        }
    }
    child_.reset();
    return start_error(fmt::format("was not ready within {} s", kReadyLimit / kSecond));
}

// A port that accepts may belong to somebody else who was faster, so the question is whether the
// child itself listens; where the kernel does not tell, an accepted connection has to do.
Result<bool> ManagedBroker::is_ready(std::uint16_t plain_port, std::uint16_t tls_port) const {
    for (const std::uint16_t port : {plain_port, tls_port}) {
        const auto listening = machine::is_listening(child_->pid(), port);
        if (listening ? !*listening : false)
            return false;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        addrinfo target{};
        target.ai_family = AF_INET;
        target.ai_addr = reinterpret_cast<sockaddr*>(&address);
        target.ai_addrlen = sizeof address;
        std::string why;
        if (!listening && !accepts(target, why))
            return false;
    }
    return true;
}

Error ManagedBroker::start_error(const std::string& what) const {
    std::string tail = log_tail(options_.log_file, 3);
    std::ranges::replace(tail, '\n', ';');
    return {ErrorCode::broker,
            fmt::format("the broker '{}' {}{}", mosquitto_.program.string(), what,
                        tail.empty() ? "" : ": " + tail),
            fmt::format("its log is '{}'", options_.log_file.string())};
}

// ------------------------------------------------------------------------------------ external

class ExternalBroker final : public Broker {
  public:
    ExternalBroker(BrokerUrl url, std::string ca_file)
        : url_(std::move(url)), ca_file_(std::move(ca_file)) {
        identity_.is_managed = false;
    }

    std::optional<Listener> plain() const override {
        return url_.has_tls ? std::nullopt : std::optional(listener_);
    }
    std::optional<Listener> tls() const override {
        return url_.has_tls ? std::optional(listener_) : std::nullopt;
    }
    const BrokerIdentity& identity() const override { return identity_; }
    Child* process() override { return nullptr; }
    std::string why_no_process() const override { return "the broker was not started by mqcore"; }
    Result<void> restart() override;

  private:
    BrokerUrl url_;
    std::string ca_file_;
    BrokerIdentity identity_;
    Listener listener_;
};

// Not a restart of somebody else's broker: a fresh look at whether it accepts.
Result<void> ExternalBroker::restart() {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const std::string port = std::to_string(url_.port);
    if (const int failed = ::getaddrinfo(url_.host.c_str(), port.c_str(), &hints, &found))
        return Error{ErrorCode::broker,
                     fmt::format("the broker's host '{}' has no address: {}", url_.host,
                                 ::gai_strerror(failed)),
                     "check the name given with --broker"};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
    std::string tried;
    for (const addrinfo* address = found; address; address = address->ai_next) {
        char text[NI_MAXHOST] = "";
        ::getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST);
        std::string why;
        if (accepts(*address, why)) {
            // A certificate is made out to the name; without TLS the number keeps every party on
            // the same address family.
            listener_ = {.host = url_.has_tls ? url_.host : text,
                         .port = url_.port,
                         .ca_file = url_.has_tls ? ca_file_ : ""};
            return {};
        }
        tried += fmt::format("{}{} port {}: {}", tried.empty() ? "" : "; ", text, port, why);
    }
    return Error{ErrorCode::broker,
                 fmt::format("the broker '{}' accepts no connection (tried {})", url_.host, tried),
                 "start it, or leave --broker out to use a Mosquitto of mqcore's own"};
}

} // namespace

Json to_json(const BrokerIdentity& identity) {
    return support::JsonObject{{"managed", identity.is_managed},
                               {"version", identity.version},
                               {"config_sha256", identity.config_sha256},
                               {"binary_sha256", identity.binary_sha256},
                               {"config", identity.config}};
}

Result<BrokerUrl> parse_broker_url(std::string_view text) {
    const auto wrong = [&](std::string_view what) {
        return Error{ErrorCode::wrong_input, fmt::format("broker '{}': {}", text, what),
                     std::string(kUrlForm)};
    };
    BrokerUrl url;
    std::string_view rest = text;
    if (rest.starts_with("mqtts://"))
        url.has_tls = true;
    else if (!rest.starts_with("mqtt://"))
        return wrong("it does not start with mqtt:// or mqtts://");
    rest.remove_prefix(url.has_tls ? 8 : 7);
    if (rest.ends_with('/'))
        rest.remove_suffix(1);
    if (rest.find('@') != std::string_view::npos)
        return wrong("user names are not supported");
    if (rest.find_first_of("/?#") != std::string_view::npos)
        return wrong("a path has no meaning here");

    std::string_view port;
    bool has_port = false;
    if (rest.starts_with('[')) {
        const std::size_t close = rest.find(']');
        if (close == std::string_view::npos)
            return wrong("the bracket is not closed");
        url.host = rest.substr(1, close - 1);
        const std::string address = url.host.substr(0, url.host.find('%')); // without the zone
        in6_addr parsed{};
        if (::inet_pton(AF_INET6, address.c_str(), &parsed) != 1)
            return wrong(fmt::format("'{}' is no IPv6 address", address));
        rest.remove_prefix(close + 1);
        has_port = rest.starts_with(':');
        if (!rest.empty() && !has_port)
            return wrong(fmt::format("'{}' after the bracket", rest));
        port = has_port ? rest.substr(1) : "";
    } else {
        const std::size_t colon = rest.find(':');
        has_port = colon != std::string_view::npos;
        if (has_port && rest.find(':', colon + 1) != std::string_view::npos)
            return wrong("an IPv6 address needs brackets");
        url.host = rest.substr(0, colon);
        port = has_port ? rest.substr(colon + 1) : "";
    }
    if (url.host.empty())
        return wrong("there is no host");
    url.port = url.has_tls ? kTlsPort : kPlainPort;
    if (has_port) {
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
        if (error != std::errc() || end != port.data() + port.size() || url.port == 0)
            return wrong(fmt::format("'{}' is no port (1 to 65535)", port));
    }
    return url;
}

Result<std::unique_ptr<Broker>> start_managed_broker(Supervisor& supervisor,
                                                     const ManagedBrokerOptions& options) {
    auto mosquitto = machine::find_mosquitto();
    if (!mosquitto)
        return mosquitto.error();
    auto folder = TempDir::create();
    if (!folder)
        return folder.error();
    auto broker = std::make_unique<ManagedBroker>(supervisor, options, std::move(*mosquitto),
                                                  std::move(*folder));
    if (auto prepared = broker->prepare(); !prepared)
        return prepared.error();
    return std::unique_ptr<Broker>(std::move(broker));
}

Result<std::unique_ptr<Broker>> use_external_broker(const BrokerUrl& url,
                                                    const std::string& ca_file) {
    auto broker = std::make_unique<ExternalBroker>(url, ca_file);
    if (auto accepts_now = broker->restart(); !accepts_now)
        return accepts_now.error();
    return std::unique_ptr<Broker>(std::move(broker));
}

} // namespace mqcore::session
