#pragma once
// One MQTT connection from the client's side, without any opinion on what is sent: connects,
// subscribes, keeps the connection alive, acknowledges what arrives (QoS 1 and 2), and hands packets
// to its listener. A lost connection is one Error that says who ended it and why. One thread.

#include "peer/encode.hpp"
#include "peer/packet_stream.hpp"
#include "peer/receipts.hpp"

#include <asio/steady_timer.hpp>
#include <bitset>
#include <functional>
#include <optional>
#include <vector>

namespace mqcore::peer {

class ClientListener {
  public:
    // A message, once: a PUBLISH of QoS 2 repeated before its PUBREL is counted by the client and
    // not handed on.
    virtual void on_publish(const PublishView& publish, Nanoseconds now) = 0;
    // PUBACK, PUBREC and PUBCOMP for what we publish.
    virtual void on_ack(PacketType type, const AckView& ack, Nanoseconds now) = 0;
    virtual void on_pingresp(std::uint64_t /*ordinal*/, Nanoseconds) {} // of the PINGREQ, from 1
    // See PacketStream::Handler.
    virtual void on_turn_end() {}
    virtual void on_written(Nanoseconds now) = 0;
    virtual void on_drained() {}
    virtual void on_lost(support::Error error) = 0;

  protected:
    ~ClientListener() = default;
};

// What a connection told about itself.
struct ConnectedFacts {
    Nanoseconds connect_ns = 0; // from the look-up of the host's name to CONNACK
    bool has_tcp_nodelay = false;
    std::string local_address;
    std::string remote_address;
    bool is_session_present = false;
    std::uint16_t receive_maximum = kDefaultReceiveMaximum; // the server's
    std::uint8_t maximum_qos = 2;                           // the server's
    std::uint32_t maximum_packet_bytes = kMaxPacketBytes;   // the server's
    std::vector<std::uint8_t> granted_qos;                  // SUBACK codes, failures included
    support::Json tls;                                      // null on plain TCP
};

// What crossed a connection in one direction up to now.
struct Traffic {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t publishes = 0;
    std::uint64_t publish_payload_bytes = 0;
};

class Client final : private PacketStream::Handler {
  public:
    static constexpr Nanoseconds kConnectDeadline = 10 * support::kSecond;

    Client(asio::io_context& io, measure::Endpoint endpoint, ClientListener& listener);
    ~Client();

    // Connects and, when there are filters, subscribes; calls `done` within the deadline.
    void connect(std::vector<std::string> filters, std::uint8_t qos,
                 std::function<void(support::Result<ConnectedFacts>)> done);
    // Takes a link whose MQTT handshake is behind it (tests and benchmarks).
    void adopt(Link link);

    Protocol protocol() const { return endpoint_.protocol; }
    PacketStream& stream() { return stream_; }
    const PacketStream& stream() const { return stream_; }
    std::uint64_t ping(); // the ordinal of this PINGREQ
    void disconnect();    // DISCONNECT, as far as the transport takes it at once, and close

    // What arrived before the packet that is being handed on.
    const Traffic& received() const { return received_; }
    // What CONNECT and SUBSCRIBE took; valid once connected.
    const Traffic& sent_to_connect() const { return sent_to_connect_; }
    // PUBLISH packets of the server: DUP flags, QoS 2 repetitions, and messages beyond our Receive Maximum.
    const Seen& seen() const { return seen_; }

  private:
    enum class Step { idle, connecting, tls, connack, suback, open, closed };

    void tcp_connected(Link link);
    void send_connect();
    void send_subscribe();
    void finish_connect();
    void fail(support::Error error);
    void lose(std::string reason);
    void on_deadline();
    void keep_alive();
    void arm_keep_alive();

    void on_packet(const Frame& frame, Nanoseconds now) override;
    void on_turn_end() override;
    void on_written(Nanoseconds now) override;
    void on_drained() override;
    void on_fault(Fault fault) override;
    void on_end(std::string how) override;

    // Each answers the packet's fault.
    Fault handle(const Frame& frame, Nanoseconds now);
    Fault handle_connack(const Frame& frame);
    Fault handle_suback(const Frame& frame);
    Fault handle_publish(const Frame& frame, Nanoseconds now);
    Fault handle_ack(const Frame& frame, Nanoseconds now);
    Fault handle_pingresp(const Frame& frame, Nanoseconds now);
    Fault handle_disconnect(const Frame& frame);
    void break_off(Fault fault, std::string_view packet);

    asio::io_context& io_;
    measure::Endpoint endpoint_;
    ClientListener& listener_;
    std::function<void(support::Result<ConnectedFacts>)> done_;
    std::vector<std::string> filters_;
    std::uint8_t subscribe_qos_ = 0;
    Step step_ = Step::idle;
    std::optional<TcpConnect> tcp_;
    PacketStream stream_;
    asio::steady_timer deadline_;
    asio::steady_timer keep_alive_timer_;
    ConnectedFacts facts_;
    Nanoseconds connect_started_ = 0;
    Nanoseconds keep_alive_ns_ = 0; // 0: none
    Nanoseconds last_sent_ = 0;
    Nanoseconds ping_sent_ = 0; // the oldest unanswered one; 0: none
    std::uint64_t pings_sent_ = 0;
    std::uint64_t pings_answered_ = 0;
    Traffic received_;
    Traffic sent_to_connect_;
    std::uint32_t receive_maximum_ = kDefaultReceiveMaximum; // ours
    std::uint32_t unflushed_acks_ = 0;                       // QoS 1 acknowledged in this turn
    std::uint32_t open_qos2_ = 0;                            // PUBLISH seen, PUBREL not yet
    std::bitset<65'536> qos2_ids_;
    Seen seen_;
};

} // namespace mqcore::peer
