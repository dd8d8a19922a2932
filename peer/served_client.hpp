#pragma once
// One client of the peer's server: the broker's side of one connection. Checks what the client sends,
// answers as the behaviour says, and counts all of it for the report; routing between clients is the
// server's. One thread.

#include "peer/encode.hpp"
#include "peer/packet_stream.hpp"
#include "peer/receipts.hpp"

#include <array>
#include <asio/steady_timer.hpp>
#include <bitset>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mqcore::peer {

class ServedClient;

// What a connection needs of the server.
class ServerSide {
  public:
    virtual void route(ServedClient& from, const PublishView& publish, Nanoseconds now) = 0;
    // A CONNECT was accepted: an older connection of the same client id ends (5 section 3.1.4).
    virtual void take_over(const ServedClient& newcomer) = 0;
    // Deliveries to other connections have been encoded and can be flushed.
    virtual void turn_ended() = 0;
    // PUBACK, PUBREC or PUBCOMP of the client. True: it answers a message that the server sends of its
    // own accord, and is dealt with.
    virtual bool take_ack(PacketType, const AckView&, Nanoseconds) { return false; }
    // The transport has taken bytes of a connection, or everything after it was full.
    virtual void written(Nanoseconds) {}
    virtual void drained() {}

  protected:
    ~ServerSide() = default;
};

class ServedClient final : private PacketStream::Handler {
  public:
    static constexpr std::uint16_t kTopicAliases = 16; // what the server offers at MQTT 5

    ServedClient(asio::io_context& io, Link link, const measure::ServerBehaviour& behaviour,
                 ServerSide& server, std::size_t number);

    const std::string& client_id() const { return client_id_; }
    bool is_connected() const { return is_accepted_ && stream_.is_open(); }
    Protocol protocol() const { return protocol_; }
    PacketStream& stream() { return stream_; }
    support::Json tls_facts() const { return tls_; } // null on plain TCP
    std::uint16_t receive_maximum() const {          // the client's
        return static_cast<std::uint16_t>(client_receive_maximum_);
    }
    // The QoS of the best subscription that matches; nothing: none does.
    std::optional<std::uint8_t> granted_for(std::string_view topic) const;
    Seen seen() const {
        return {.dup_flagged = dup_flagged_,
                .qos2_repeated = qos2_repeated_,
                .receive_maximum_exceeded = receive_maximum_exceeded_};
    }
    std::uint64_t with_empty_topic() const { return with_empty_topic_; }

    // Delivers a message if a subscription matches, at the lower QoS of both.
    void offer(const ServedClient& from, const PublishView& publish);
    // Sends what was encoded outside a turn of this connection.
    void flush() { stream_.flush(); }
    // Ends the connection from our side; `reason` is what the report says.
    void close(std::string reason, std::optional<std::uint8_t> reason_code = std::nullopt);
    // 3.1.1 section 3.1.2.10: silent for one and a half times the keep alive.
    void close_if_silent(Nanoseconds now);

    // docs/architecture.md, "Server".
    support::Json report() const;

  private:
    struct Subscription {
        std::string filter;
        std::uint8_t qos = 0;
        bool is_no_local = false;
        bool is_retain_as_published = false;
    };
    struct Queued { // waits for the client's Receive Maximum
        std::string topic;
        std::vector<std::uint8_t> payload;
        std::vector<std::uint8_t> properties;
        std::uint8_t qos;
        bool is_retained;
    };
    enum class Handshake : std::uint8_t { none, puback, pubrec, pubcomp };

    void on_packet(const Frame& frame, Nanoseconds now) override;
    void on_turn_end() override { server_.turn_ended(); }
    void on_written(Nanoseconds now) override { server_.written(now); }
    void on_drained() override { server_.drained(); }
    void on_fault(Fault fault) override { break_off(fault, "packet"); }
    void on_end(std::string how) override { ended_ = "the client " + how; }

    Fault handle(const Frame& frame, Nanoseconds now);
    Fault handle_connect(const Frame& frame);
    Fault handle_publish(const Frame& frame, Nanoseconds now);
    Fault resolve_alias(PublishView& publish);
    Fault handle_pubrel(const Frame& frame);
    Fault handle_delivery_ack(const Frame& frame, Nanoseconds now);
    Fault handle_subscribe(const Frame& frame);
    Fault handle_unsubscribe(const Frame& frame);
    Fault handle_disconnect(const Frame& frame);
    void answer_connect();
    void acknowledge(const PublishView& publish);
    void obey_publish_counts();
    // The packet identifier of the fields is not used.
    void deliver(const PublishFields& fields, Bytes payload);
    void deliver_queued();
    bool has_room() const;
    void transmit(PublishFields fields, Bytes payload);
    std::uint16_t take_packet_id();
    void break_off(Fault fault, std::string_view packet);
    void after(std::uint32_t delay_ms, std::function<void()> step);

    asio::io_context& io_;
    const measure::ServerBehaviour& behaviour_;
    ServerSide& server_;
    std::size_t number_;
    PacketStream stream_;
    Protocol protocol_ = Protocol::v311;
    std::string client_id_;
    std::string remote_;
    support::Json tls_;
    bool is_id_assigned_ = false;
    bool has_connect_ = false;
    bool is_accepted_ = false;
    bool is_clean_ = false;
    std::uint32_t session_expiry_s_ = 0;
    std::uint16_t keepalive_s_ = 0;
    Nanoseconds last_packet_ = 0;
    std::vector<Subscription> subscriptions_;
    std::string ended_; // how; empty: the connection is open

    // Deliveries to the client.
    std::uint32_t client_receive_maximum_ = kDefaultReceiveMaximum;
    std::vector<Handshake>
        deliveries_; // by packet identifier; empty before the first of QoS 1 or 2
    std::uint32_t unfinished_deliveries_ = 0;
    std::uint16_t last_packet_id_ = 0;
    std::vector<std::uint8_t> forwarded_properties_; // of the message that came with an alias
    std::deque<Queued> queued_;
    std::size_t queued_bytes_ = 0;

    // Publishes of the client.
    std::array<std::string, kTopicAliases + 1> topic_by_alias_;
    std::bitset<65'536> unfinished_ids_; // QoS 1 and 2 that we have not finished
    std::uint32_t unfinished_ = 0;

    // Counts for the report.
    std::array<std::uint64_t, 16> packets_{};  // by type, from the client
    std::array<std::uint64_t, 3> publishes_{}; // by QoS
    std::array<std::uint64_t, 3> delivered_{}; // by QoS
    std::uint64_t bytes_received_ = 0;
    std::uint64_t payload_bytes_ = 0;
    std::uint64_t dup_flagged_ = 0;
    std::uint64_t retained_ = 0;
    std::uint64_t qos2_repeated_ = 0;
    std::uint64_t packet_id_reused_ = 0;
    std::uint64_t receive_maximum_exceeded_ = 0;
    std::uint64_t unknown_acks_ = 0;
    std::uint64_t dropped_ = 0; // deliveries to a client that does not read
    std::uint32_t most_unfinished_ = 0;
    std::uint64_t with_user_properties_ = 0;
    std::uint64_t with_topic_alias_ = 0;
    std::uint64_t with_empty_topic_ = 0;
    support::JsonArray first_; // publishes, as the report has them
    Fault fault_ = Fault::none;
    std::vector<std::unique_ptr<asio::steady_timer>> timers_;
};

} // namespace mqcore::peer
