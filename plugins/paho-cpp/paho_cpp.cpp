// The driver of Eclipse Paho MQTT C++, async_client: drive() hands messages over and never waits for one,
// completions and arrivals come to a listener and a handler on the two threads of the C library beneath.
// README.md beside this file says what each completion stands for and why each setting is what it is.
//
// Also the reference for drivers in C++.
#include "mqcore/driver.hpp"

#include <mqtt/async_client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mqcore::plugin::Failure;
using mqcore::plugin::Host;
using mqcore::plugin::Message;
using mqcore::plugin::Next;
using mqcore::plugin::Run;
using mqcore::plugin::Sink;
using mqcore::plugin::Source;

constexpr auto kClaims = mqcore::plugin::Claims("paho-cpp", "Eclipse Paho MQTT C++")
                             .shape(MQCORE_SHAPE_NOWAIT)
                             .protocols(MQCORE_V311 | MQCORE_V5)
                             .publish(MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2)
                             .subscribe(MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2)
                             .features(MQCORE_FEATURE_TLS | MQCORE_FEATURE_PUBLISH_PROPERTIES |
                                       MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM |
                                       MQCORE_FEATURE_MANY_CONNECTIONS)
                             .max_window(65534)
                             .qos0_completion(MQCORE_QOS0_WRITTEN);

constexpr auto kPatience = 10s;
constexpr auto kLeavingPatience = 2s;

std::string uri_of(const Run& run) {
    const std::string host = run.host();
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return (run.has_tls() ? "ssl://" : "tcp://") + (is_ipv6 ? '[' + host + ']' : host) + ':' +
           std::to_string(run.port());
}

// All of a run's messages carry the same.
mqtt::properties publish_properties(const Run& run) {
    mqtt::properties all;
    if (!run.properties().empty()) {
        const mqcore_properties& set = *run.properties()[0];
        if (set.content_type != nullptr)
            all.add({mqtt::property::CONTENT_TYPE, set.content_type});
        if (set.response_topic != nullptr)
            all.add({mqtt::property::RESPONSE_TOPIC, set.response_topic});
        if (set.correlation_data != nullptr)
            all.add({mqtt::property::CORRELATION_DATA,
                     std::string(reinterpret_cast<const char*>(set.correlation_data),
                                 set.correlation_data_bytes)});
        for (std::uint32_t i = 0; i < set.user_count; ++i)
            all.add({mqtt::property::USER_PROPERTY, set.user[i].name, set.user[i].value});
    }
    if (run.topic_alias_max() > 0)
        all.add({mqtt::property::TOPIC_ALIAS, static_cast<std::int32_t>(run.topic_alias_max())});
    return all;
}

class Driver : public mqtt::iaction_listener {
  public:
    explicit Driver(Host host) : host_(host) {
        host_.note("library.version", mqtt::VERSION_STR);
        for (const MQTTAsync_nameValue* info = MQTTAsync_getVersionInfo(); info && info->name;
             ++info) {
            if (std::string_view(info->name) == "Version")
                host_.note("library.c_version", info->value);
            else if (std::string_view(info->name) == "OpenSSL version")
                host_.note("tls.library", info->value);
        }
    }
    ~Driver() override { disconnect(); }

    void connect(Run run) {
        run.refuse_options();
        is_lost_ = false;
        is_leaving_ = false;
        early_ = 0;
        properties_ = publish_properties(run);
        topics_.assign(run.topics().begin(), run.topics().end());
        for (std::uint32_t i = 0; i < run.connection_count(); ++i)
            add_client(run, i);
        try {
            const mqtt::connect_options options = connect_options(run);
            std::vector<mqtt::token_ptr> answers;
            for (const auto& client : clients_)
                answers.push_back(client->connect(options));
            for (const mqtt::token_ptr& answer : answers)
                if (!answer->wait_for(kPatience))
                    throw Failure(MQCORE_NETWORK, "no CONNACK within 10 s");
        } catch (const mqtt::exception& failure) {
            const std::lock_guard lock(mutex_);
            throw Failure(MQCORE_NETWORK, "connect to '" + uri_of(run) + "': " + failure.what() +
                                              (tls_error_.empty() ? "" : "; TLS: " + tls_error_));
        }
        for (const auto& client : clients_)
            subscribe(run, *client);
    }

    void drive(Source source, Sink sink) {
        // Release: callbacks on the library's threads read what the sink points at.
        sink_.store(sink.raw(), std::memory_order_release);
        Message message;
        for (;;) {
            switch (source.next(message)) {
            case Next::send:
                publish(message);
                break;
            case Next::wait:
            case Next::drain:
                check_connection();
                source.wait();
                break;
            case Next::stop:
                check_connection();
                return;
            }
        }
    }

    void disconnect() {
        is_leaving_ = true;
        sink_ = nullptr;
        for (const auto& client : clients_) {
            try {
                // A message before it that is stuck keeps DISCONNECT back; destroying the client then
                // closes the connection.
                client->disconnect(0)->wait_for(kLeavingPatience);
            } catch (const mqtt::exception&) {
                // The connection is gone already.
            }
        }
        // The library calls back under a lock that the destructor takes: a callback that had already
        // read the sink has ended then.
        clients_.clear();
        if (const unsigned early = early_.exchange(0); early > 0)
            host_.log(MQCORE_LOG_WARNING,
                      std::to_string(early) +
                          " messages arrived before drive() and were not reported");
    }

    // Completions: what the user context of a message says is its slot.
    void on_success(const mqtt::token& token) override { done(token, MQCORE_OK); }
    void on_failure(const mqtt::token& token) override { done(token, MQCORE_NETWORK); }

  private:
    void add_client(const Run& run, std::uint32_t index) {
        const mqtt::create_options options(run.is_v5() ? MQTTVERSION_5 : MQTTVERSION_3_1_1,
                                           static_cast<int>(run.window()) + 1);
        clients_.push_back(std::make_unique<mqtt::async_client>(uri_of(run), run.client_id(index),
                                                                options, nullptr));
        mqtt::async_client& client = *clients_.back();
        client.set_message_callback(
            [this, index](const mqtt::const_message_ptr& message) { received(*message, index); });
        client.set_connection_lost_handler([this, index](const std::string& cause) {
            lost(index,
                 cause.empty() ? "was lost: the library gives no cause" : "was lost: " + cause);
        });
        if (run.is_v5())
            client.set_disconnected_handler(
                [this, index](const mqtt::properties&, mqtt::ReasonCode reason) {
                    lost(index, std::string(": the server disconnected: ") +
                                    MQTTReasonCode_toString(static_cast<MQTTReasonCodes>(reason)));
                });
    }

    mqtt::connect_options connect_options(const Run& run) {
        mqtt::connect_options options;
        options.set_mqtt_version(run.is_v5() ? MQTTVERSION_5 : MQTTVERSION_3_1_1);
        if (run.is_v5())
            options.set_clean_start(true);
        else
            options.set_clean_session(true);
        options.set_keep_alive_interval(static_cast<int>(run.keepalive_s()));
        options.set_connect_timeout(kPatience);
        options.set_max_inflight(run.window() > 0 ? static_cast<int>(run.window()) : 1);
        options.set_automatic_reconnect(false);
        if (run.receive_maximum() > 0)
            options.set_properties({{mqtt::property::RECEIVE_MAXIMUM,
                                     static_cast<std::int32_t>(run.receive_maximum())}});
        if (run.has_tls()) {
            mqtt::ssl_options tls;
            tls.set_trust_store(run.ca_file());
            tls.set_enable_server_cert_auth(true);
            tls.set_verify(true);
            tls.set_error_handler([this](const std::string& text) {
                const std::lock_guard lock(mutex_);
                if (tls_error_.empty())
                    tls_error_ = text.substr(0, text.find_first_of("\r\n"));
            });
            options.set_ssl(std::move(tls));
            for (const char* key : {"tls.version", "tls.cipher"})
                host_.note(key, "not known: Paho C++ has no call for it");
        }
        return options;
    }

    void subscribe(const Run& run, mqtt::async_client& client) {
        const std::size_t count = run.filters().size();
        if (count == 0)
            return;
        const int qos = static_cast<int>(run.filter_qos());
        std::vector<mqtt::ReasonCode> granted;
        try {
            // The library reads the answer to a collection of one wrongly.
            const mqtt::token_ptr answer =
                count == 1
                    ? client.subscribe(run.filters()[0], qos)
                    : client.subscribe(mqtt::string_collection::create(std::vector<std::string>(
                                           run.filters().begin(), run.filters().end())),
                                       std::vector<int>(count, qos));
            if (!answer->wait_for(kPatience))
                throw Failure(MQCORE_NETWORK, "no SUBACK within 10 s");
            granted = answer->get_subscribe_response().get_reason_codes();
        } catch (const mqtt::exception& failure) {
            throw Failure(MQCORE_NETWORK,
                          std::string("the broker refused to subscribe: ") + failure.what());
        }
        for (std::size_t i = 0; i < granted.size(); ++i) {
            const std::string filter = run.filters()[i];
            if (granted[i] >= 0x80)
                throw Failure(MQCORE_NETWORK, "the broker refused to subscribe '" + filter + '\'');
            if (granted[i] < qos)
                throw Failure(MQCORE_UNSUPPORTED, "the broker granted QoS " +
                                                      std::to_string(int(granted[i])) + " for '" +
                                                      filter + "', QoS " + std::to_string(qos) +
                                                      " was asked for");
        }
    }

    void publish(const Message& message) {
        try {
            clients_[message.connection()]->publish(
                mqtt::message::create(topics_[message.topic()], message.payload(),
                                      message.payload_bytes(), message.qos(), message.retain(),
                                      properties_),
                reinterpret_cast<void*>(std::uintptr_t{message.slot()}), *this);
        } catch (const mqtt::exception& failure) {
            check_connection();
            throw Failure(MQCORE_LIBRARY, std::string("async_client::publish: ") + failure.what());
        }
    }

    void check_connection() const {
        if (is_lost_.load(std::memory_order_relaxed))
            throw Failure(MQCORE_NETWORK, "a connection was lost");
    }

    void done(const mqtt::token& token, std::int32_t status) {
        if (const Sink sink(sink_.load(std::memory_order_acquire)); sink)
            sink.done(static_cast<std::uint32_t>(
                          reinterpret_cast<std::uintptr_t>(token.get_user_context())),
                      status);
    }

    void received(const mqtt::message& message, std::uint32_t connection) {
        const mqtt::binary_ref& payload = message.get_payload_ref();
        if (const Sink sink(sink_.load(std::memory_order_acquire)); sink)
            sink.received(payload.data(), static_cast<std::uint32_t>(payload.length()), MQCORE_NONE,
                          connection);
        else if (!is_leaving_)
            ++early_;
    }

    void lost(std::uint32_t connection, const std::string& how) {
        if (is_leaving_)
            return;
        host_.fail(MQCORE_NETWORK, "connection " + std::to_string(connection) + ' ' + how);
        is_lost_ = true;
    }

    const Host host_;
    std::vector<std::unique_ptr<mqtt::async_client>> clients_;
    std::vector<mqtt::string_ref> topics_; // each message shares them
    mqtt::properties properties_;          // each message copies them

    // Null before drive() and once disconnect() has begun: then callbacks have nobody to tell.
    std::atomic<mqcore_sink*> sink_ = nullptr;
    std::atomic<bool> is_lost_ = false;
    std::atomic<bool> is_leaving_ = false;
    std::atomic<unsigned> early_ = 0; // messages that arrived before drive()
    std::mutex mutex_;
    std::string tls_error_; // first line of the TLS library; guarded by mutex_
};

} // namespace

MQCORE_DRIVER(Driver, kClaims)
