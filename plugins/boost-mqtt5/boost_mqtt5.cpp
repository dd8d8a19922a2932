// The driver of Boost.MQTT5: everything on the thread of drive(), in one io_context. What there is to send is
// handed over without waiting, after completions and by a timer; completions and arrivals are handlers.
// README.md beside this file says what each completion stands for and why each setting is what it is.
#include "mqcore/driver.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/mqtt5/mqtt_client.hpp>
#include <boost/mqtt5/ssl.hpp>
#include <boost/mqtt5/types.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace mqtt5 = boost::mqtt5;

using TcpStream = asio::ip::tcp::socket;
using TlsStream = asio::ssl::stream<TcpStream>;

// Where the library asks how TLS is to be spoken.
namespace boost::mqtt5 {

template <>
struct tls_handshake_type<TlsStream> {
    static constexpr auto client = asio::ssl::stream_base::client;
};

template <>
void assign_tls_sni(const authority_path& authority, asio::ssl::context&, TlsStream& stream) {
    error_code ignored; // an address is no server name
    if (asio::ip::make_address(authority.host, ignored); ignored)
        SSL_set_tlsext_host_name(stream.native_handle(), authority.host.c_str());
    stream.set_verify_callback(asio::ssl::host_name_verification(authority.host));
}

} // namespace boost::mqtt5

namespace {

using namespace std::chrono_literals;
using mqcore::plugin::Failure;
using mqcore::plugin::Host;
using mqcore::plugin::Message;
using mqcore::plugin::Next;
using mqcore::plugin::Run;
using mqcore::plugin::Sink;
using mqcore::plugin::Source;
using mqtt5::error_code;
using mqtt5::reason_code;

constexpr auto kClaims = mqcore::plugin::Claims("boost-mqtt5", "Boost.MQTT5")
                             .shape(MQCORE_SHAPE_NOWAIT)
                             .protocols(MQCORE_V5)
                             .publish(MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2)
                             .subscribe(MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2)
                             .features(MQCORE_FEATURE_TLS | MQCORE_FEATURE_PUBLISH_PROPERTIES |
                                       MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM |
                                       MQCORE_FEATURE_MANY_CONNECTIONS)
                             .max_window(65534)
                             .qos0_completion(MQCORE_QOS0_WRITTEN);

constexpr auto kPatience = 10s;
constexpr auto kLeavingPatience = 2s;
constexpr std::uint32_t kBesidesPayload = 256 * 1024; // topic, properties and header of a packet
constexpr int kHandlersAtEnd = 256;
constexpr std::uint64_t kFarNs = std::uint64_t{1} << 62;

std::string library_version() {
    return std::to_string(BOOST_VERSION / 100000) + '.' +
           std::to_string(BOOST_VERSION / 100 % 1000) + '.' + std::to_string(BOOST_VERSION % 100);
}

mqtt5::publish_props publish_properties(const Run& run) {
    mqtt5::publish_props all;
    if (!run.properties().empty()) {
        const mqcore_properties& set = *run.properties()[0];
        if (set.content_type != nullptr)
            all[mqtt5::prop::content_type] = set.content_type;
        if (set.response_topic != nullptr)
            all[mqtt5::prop::response_topic] = set.response_topic;
        if (set.correlation_data != nullptr)
            all[mqtt5::prop::correlation_data] = std::string(
                reinterpret_cast<const char*>(set.correlation_data), set.correlation_data_bytes);
        for (std::uint32_t i = 0; i < set.user_count; ++i)
            all[mqtt5::prop::user_property].emplace_back(set.user[i].name, set.user[i].value);
    }
    if (run.topic_alias_max() > 0)
        all[mqtt5::prop::topic_alias] = static_cast<std::uint16_t>(run.topic_alias_max());
    return all;
}

class Driver;

// One MQTT connection; which stream it runs on is known to its template alone.
class Connection {
  public:
    Connection(Driver& owner, std::uint32_t index) : owner_(owner), index_(index) {}
    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    virtual void open(const Run& run) = 0;
    virtual void subscribe(std::vector<mqtt5::subscribe_topic> topics) = 0;
    virtual void publish(const std::string& topic, const Message& message) = 0;
    virtual void close() = 0;

    // What the library reports of its connection: the same calls as of its own logger.
    void at_resolve(error_code error) {
        if (is_connected_)
            lost("the library connects again"); // where it gives no cause
        else if (error)
            lost("resolve: " + error.message());
    }
    void at_tcp_connect(error_code error) {
        if (error)
            lost(error.message());
    }
    void at_tls_handshake(error_code error) {
        if (error)
            lost("TLS: " + error.message());
    }
    void at_connack(reason_code code, bool is_session_present);
    void at_disconnect(reason_code code) { lost("the server disconnected: " + code.message()); }
    void at_transport_error(error_code error) { lost(error.message()); }

  protected:
    void lost(const std::string& how);

    Driver& owner_;
    const std::uint32_t index_;
    bool is_connected_ = false;
};

// The library connects again whatever the reason; its logger is the one place that hears of it.
struct Logger {
    Connection* to;

    void at_resolve(error_code error, std::string_view, std::string_view,
                    const asio::ip::tcp::resolver::results_type&) const {
        to->at_resolve(error);
    }
    void at_tcp_connect(error_code error, asio::ip::tcp::endpoint) const {
        to->at_tcp_connect(error);
    }
    void at_tls_handshake(error_code error, asio::ip::tcp::endpoint) const {
        to->at_tls_handshake(error);
    }
    void at_connack(reason_code code, bool is_session_present, const mqtt5::connack_props&) const {
        to->at_connack(code, is_session_present);
    }
    void at_disconnect(reason_code code, const mqtt5::disconnect_props&) const {
        to->at_disconnect(code);
    }
    void at_transport_error(error_code error) const { to->at_transport_error(error); }
};

class Driver {
  public:
    explicit Driver(Host host) : host_(host) {
        host_.note("library.version", library_version());
        host_.note("tls.library", OpenSSL_version(OPENSSL_VERSION));
    }
    ~Driver() { disconnect(); }

    void connect(Run run);

    void drive(Source source, Sink sink) {
        source_ = source.raw();
        sink_ = sink;
        is_over_ = false;
        armed_ns_ = 0;
        io_->restart();
        pump();
        while (!is_over_ && !failure_)
            io_->run_one();
        source_ = nullptr;
        // A connection that is lost by now is lost in this run.
        for (int i = 0; i < kHandlersAtEnd && !failure_ && io_->poll_one() > 0; ++i) {
        }
        throw_failure();
    }

    void disconnect() {
        is_leaving_ = true;
        sink_ = Sink();
        if (!io_)
            return;
        io_->restart();
        if (!failure_) {
            still_open_ = connections_.size();
            for (const auto& connection : connections_)
                connection->close();
            // A message before it that is stuck keeps DISCONNECT back; the connection closes all the same.
            const auto until = std::chrono::steady_clock::now() + kLeavingPatience;
            while (still_open_ > 0 && io_->run_one_until(until) > 0) {
            }
        }
        connections_.clear();
        timer_.reset();
        io_.reset(); // and with it the handlers that are left
        if (early_ > 0)
            host_.log(MQCORE_LOG_WARNING,
                      std::to_string(early_) +
                          " messages arrived before drive() and were not reported");
        early_ = 0;
    }

    asio::io_context& io() { return *io_; }
    const mqtt5::publish_props& properties() const { return properties_; }

    void confirmed() { --unconfirmed_; }
    void subscribed(error_code error, const std::vector<reason_code>& granted);
    void closed() { --still_open_; }

    void done(std::uint32_t slot, std::int32_t status) {
        if (!sink_)
            return;
        sink_.done(slot, status);
        // After all handlers that are ready now: what they allow goes out together.
        if (!is_pump_posted_) {
            is_pump_posted_ = true;
            asio::post(*io_, [this] {
                is_pump_posted_ = false;
                pump();
            });
        }
    }

    void received(const std::string& payload, std::uint32_t connection) {
        if (sink_)
            sink_.received(payload.data(), static_cast<std::uint32_t>(payload.size()), MQCORE_NONE,
                           connection);
        else if (!is_leaving_)
            ++early_;
    }

    // The first one ends the run.
    void fail(std::int32_t status, const std::string& text) {
        if (!is_leaving_ && !failure_)
            failure_.emplace(status, text);
    }
    std::string address() const { return "'" + server_ + "' port " + std::to_string(port_); }

    // Once for each connection.
    void note_tls(const SSL* tls) {
        host_.note("tls.version", SSL_get_version(tls));
        host_.note("tls.cipher", SSL_get_cipher_name(tls));
    }

  private:
    void throw_failure() const {
        if (failure_)
            throw *failure_;
    }

    void await(const char* what) {
        const auto until = std::chrono::steady_clock::now() + kPatience;
        while (unconfirmed_ > 0 && !failure_)
            if (io_->run_one_until(until) == 0)
                throw Failure(MQCORE_NETWORK, std::string("no ") + what + " within 10 s");
        throw_failure();
    }

    // Hands over what there is to send.
    void pump() {
        if (source_ == nullptr || is_over_)
            return;
        const Source source(source_);
        Message message;
        for (;;) {
            switch (source.next(message)) {
            case Next::send:
                connections_[message.connection()]->publish(topics_[message.topic()], message);
                break;
            case Next::wait:
            case Next::drain:
                arm(source.wake_ns());
                return;
            case Next::stop:
                is_over_ = true;
                return;
            }
        }
    }

    // steady_clock is CLOCK_MONOTONIC.
    void arm(std::uint64_t wake_ns) {
        if (wake_ns == armed_ns_)
            return;
        armed_ns_ = wake_ns;
        timer_->expires_at(std::chrono::steady_clock::time_point(
            std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(wake_ns, kFarNs)))));
        timer_->async_wait([this](error_code error) {
            if (error)
                return; // armed anew
            armed_ns_ = 0;
            pump();
        });
    }

    const Host host_;
    std::optional<asio::io_context> io_;
    std::optional<asio::steady_timer> timer_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::string> topics_;
    std::vector<std::string> filters_;
    mqtt5::publish_props properties_; // all of a run's messages carry the same
    std::string server_;
    std::uint16_t port_ = 0;
    std::uint32_t filter_qos_ = 0;

    mqcore_source* source_ = nullptr; // null outside drive()
    Sink sink_;                       // null before drive() and once disconnect() has begun
    std::optional<Failure> failure_;
    std::uint64_t armed_ns_ = 0; // what the timer waits for; 0: it does not
    std::size_t unconfirmed_ = 0;
    std::size_t still_open_ = 0;
    std::uint32_t early_ = 0; // messages that arrived before drive()
    bool is_pump_posted_ = false;
    bool is_over_ = false;
    bool is_leaving_ = false;
};

void Connection::lost(const std::string& how) {
    owner_.fail(MQCORE_NETWORK, is_connected_
                                    ? "connection " + std::to_string(index_) + " was lost: " + how
                                    : "connect to " + owner_.address() + ": " + how);
}

void Connection::at_connack(reason_code code, bool is_session_present) {
    if (code)
        return lost("the broker refused the connection: " + code.message());
    if (is_session_present)
        return owner_.fail(MQCORE_NETWORK, "the broker has an old session of this client id, and "
                                           "Boost.MQTT5 cannot ask for a clean start");
    is_connected_ = true;
    owner_.confirmed();
}

void Driver::subscribed(error_code error, const std::vector<reason_code>& granted) {
    if (error)
        return fail(MQCORE_NETWORK, "subscribe: " + error.message());
    for (std::size_t i = 0; i < granted.size() && i < filters_.size(); ++i) {
        if (granted[i])
            return fail(MQCORE_NETWORK, "the broker refused to subscribe '" + filters_[i] +
                                            "': " + granted[i].message());
        if (granted[i].value() < filter_qos_)
            return fail(MQCORE_UNSUPPORTED, "the broker granted QoS " +
                                                std::to_string(granted[i].value()) + " for '" +
                                                filters_[i] + "', QoS " +
                                                std::to_string(filter_qos_) + " was asked for");
    }
    confirmed();
}

// A completion; memory of its operation is used again.
struct Completed {
    Driver* driver;
    std::uint16_t slot;

    using allocator_type = asio::recycling_allocator<void>;
    allocator_type get_allocator() const noexcept { return {}; }

    void operator()(error_code error) const {
        driver->done(slot, error ? MQCORE_NETWORK : MQCORE_OK);
    }
    template <class Properties>
    void operator()(error_code error, reason_code code, const Properties&) const {
        driver->done(slot, error || code ? MQCORE_NETWORK : MQCORE_OK);
    }
};

template <class Stream, class Context>
class ConnectionOver : public Connection {
  public:
    ConnectionOver(Driver& owner, std::uint32_t index, Context context)
        : Connection(owner, index), client_(owner.io(), std::move(context), Logger{this}) {}

    void open(const Run& run) override {
        // After an end that it finds while it does not read, the library goes to the next server without a
        // word, and back to the first only after a second. So there is a next one, which is the same.
        client_.brokers(std::string(run.host()) + ", " + run.host(), run.port())
            .credentials(run.client_id(index_))
            .keep_alive(static_cast<std::uint16_t>(run.keepalive_s()));
        client_.connect_property(mqtt5::prop::maximum_packet_size,
                                 run.payload_bytes_max() + kBesidesPayload);
        if (run.receive_maximum() > 0)
            client_.connect_property(mqtt5::prop::receive_maximum,
                                     static_cast<std::uint16_t>(run.receive_maximum()));
        client_.async_run([this](error_code error) { lost(error.message()); });
        receive();
    }

    void subscribe(std::vector<mqtt5::subscribe_topic> topics) override {
        client_.async_subscribe(
            topics, mqtt5::subscribe_props{},
            [this](error_code error, const std::vector<reason_code>& granted,
                   const mqtt5::suback_props&) { owner_.subscribed(error, granted); });
    }

    void publish(const std::string& topic, const Message& message) override {
        switch (message.qos()) {
        case 0:
            return publish_at<mqtt5::qos_e::at_most_once>(topic, message);
        case 1:
            return publish_at<mqtt5::qos_e::at_least_once>(topic, message);
        default:
            return publish_at<mqtt5::qos_e::exactly_once>(topic, message);
        }
    }

    void close() override {
        client_.async_disconnect([this](error_code) { owner_.closed(); });
    }

  private:
    template <mqtt5::qos_e kQos>
    void publish_at(const std::string& topic, const Message& message) {
        client_.template async_publish<kQos>(
            topic,
            std::string(reinterpret_cast<const char*>(message.payload()), message.payload_bytes()),
            message.retain() ? mqtt5::retain_e::yes : mqtt5::retain_e::no, owner_.properties(),
            Completed{&owner_, message.slot()});
    }

    void receive() {
        client_.async_receive([this](error_code error, const std::string&,
                                     const std::string& payload, const mqtt5::publish_props&) {
            if (error)
                return; // the connection has ended, which the logger tells
            owner_.received(payload, index_);
            receive();
        });
    }

    mqtt5::mqtt_client<Stream, Context, Logger> client_;
};

asio::ssl::context tls_context(const Run& run, Driver& driver) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    error_code error;
    context.load_verify_file(run.ca_file(), error);
    if (error)
        throw Failure(MQCORE_CONFIG, std::string("'") + run.ca_file() + "': " + error.message());
    context.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_app_data(context.native_handle(), &driver);
    SSL_CTX_set_info_callback(context.native_handle(), [](const SSL* tls, int where, int) {
        if ((where & SSL_CB_HANDSHAKE_DONE) != 0)
            static_cast<Driver*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls)))->note_tls(tls);
    });
    return context;
}

void Driver::connect(Run run) {
    run.refuse_options();
    if (!run.is_v5())
        throw Failure(MQCORE_UNSUPPORTED, "Boost.MQTT5 speaks MQTT 5 alone");
    failure_.reset();
    is_leaving_ = false;
    is_pump_posted_ = false;
    early_ = 0;
    server_ = run.host();
    port_ = run.port();
    filter_qos_ = run.filter_qos();
    properties_ = publish_properties(run);
    topics_.assign(run.topics().begin(), run.topics().end());
    filters_.assign(run.filters().begin(), run.filters().end());
    if (server_.find(':') != std::string::npos)
        throw Failure(MQCORE_UNSUPPORTED,
                      "Boost.MQTT5 takes no IPv6 address as a broker: '" + server_ + "'");
    io_.emplace(1);
    timer_.emplace(*io_);
    for (std::uint32_t i = 0; i < run.connection_count(); ++i)
        if (run.has_tls())
            connections_.push_back(std::make_unique<ConnectionOver<TlsStream, asio::ssl::context>>(
                *this, i, tls_context(run, *this)));
        else
            connections_.push_back(std::make_unique<ConnectionOver<TcpStream, std::monostate>>(
                *this, i, std::monostate()));
    unconfirmed_ = connections_.size();
    for (const auto& connection : connections_)
        connection->open(run);
    await("CONNACK");
    if (filters_.empty())
        return;

    std::vector<mqtt5::subscribe_topic> topics;
    for (const std::string& filter : filters_)
        topics.push_back({filter,
                          {.max_qos = static_cast<mqtt5::qos_e>(filter_qos_),
                           .no_local = mqtt5::no_local_e::no}});
    unconfirmed_ = connections_.size();
    for (const auto& connection : connections_)
        connection->subscribe(topics);
    await("SUBACK");
}

} // namespace

MQCORE_DRIVER(Driver, kClaims)
