#include "peer/client.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

namespace mqcore::peer {
namespace {

using support::Error;
using support::ErrorCode;
using support::now_ns;
using support::Result;

constexpr std::uint16_t kSubscribeId = 1;

// ", reason" where the server gave one in words.
std::string and_reason(std::string_view reason_string) {
    return reason_string.empty() ? std::string() : fmt::format(", '{}'", reason_string);
}

} // namespace

Client::Client(asio::io_context& io, measure::Endpoint endpoint, ClientListener& listener)
    : io_(io), endpoint_(std::move(endpoint)), listener_(listener),
      stream_(io, endpoint_.protocol, *this), deadline_(io), keep_alive_timer_(io) {
    endpoint_.keepalive_s = std::min(endpoint_.keepalive_s, 0xFFFFu);
    endpoint_.receive_maximum = std::min(endpoint_.receive_maximum, 0xFFFFu);
    if (endpoint_.protocol == Protocol::v5 && endpoint_.receive_maximum)
        receive_maximum_ = endpoint_.receive_maximum;
}

Client::~Client() = default;

void Client::connect(std::vector<std::string> filters, std::uint8_t qos,
                     std::function<void(Result<ConnectedFacts>)> done) {
    done_ = std::move(done);
    filters_ = std::move(filters);
    subscribe_qos_ = qos;
    step_ = Step::connecting;
    connect_started_ = now_ns();
    deadline_.expires_after(std::chrono::nanoseconds(kConnectDeadline));
    deadline_.async_wait([this](const asio::error_code& error) {
        if (!error)
            on_deadline();
    });
    tcp_.emplace(io_, endpoint_.host, endpoint_.port, [this](Result<Link> link) {
        if (!link)
            return fail(link.error());
        tcp_connected(std::move(link).value());
    });
}

void Client::adopt(Link link) {
    facts_.remote_address = stream_.open(std::move(link)).remote_address();
    step_ = Step::open;
    stream_.start_reading();
}

void Client::tcp_connected(Link link) {
    Link& opened = stream_.open(std::move(link));
    facts_.has_tcp_nodelay = opened.has_tcp_nodelay();
    facts_.local_address = opened.local_address();
    facts_.remote_address = opened.remote_address();
    if (!facts_.has_tcp_nodelay)
        return fail({ErrorCode::peer, "TCP_NODELAY could not be set on the peer's socket", {}});
    if (endpoint_.ca_file.empty())
        return send_connect();
    step_ = Step::tls;
    opened.start_tls(endpoint_.ca_file, endpoint_.host, [this](Result<void> result) {
        if (!result)
            return fail({ErrorCode::broker,
                         fmt::format("{}: {}", facts_.remote_address, result.error().message),
                         result.error().hint});
        facts_.tls = stream_.link().tls_facts();
        send_connect();
    });
}

void Client::send_connect() {
    step_ = Step::connack;
    PropertyWriter properties;
    if (endpoint_.receive_maximum)
        properties.two_bytes(Property::receive_maximum,
                             static_cast<std::uint16_t>(endpoint_.receive_maximum));
    const ConnectFields fields{.protocol = endpoint_.protocol,
                               .client_id = endpoint_.client_id,
                               .keepalive_s = static_cast<std::uint16_t>(endpoint_.keepalive_s),
                               .is_clean = true,
                               .user_name = std::nullopt,
                               .password = std::nullopt,
                               .properties = properties.bytes()};
    if (!encode_connect(stream_.outgoing(), fields))
        return fail({ErrorCode::wrong_input, "the client id is longer than 65,535 bytes", {}});
    keep_alive_ns_ = endpoint_.keepalive_s * support::kSecond;
    sent_to_connect_ = {.packets = 1, .bytes = stream_.encoded_bytes()};
    stream_.flush();
    if (stream_.is_open())
        stream_.start_reading();
}

void Client::send_subscribe() {
    step_ = Step::suback;
    std::vector<FilterFields> fields;
    for (const std::string& filter : filters_)
        fields.push_back({.filter = filter, .options = subscribe_qos_});
    if (!encode_subscribe(stream_.outgoing(), endpoint_.protocol, kSubscribeId, fields))
        return fail({ErrorCode::wrong_input, "the topic filters do not fit one SUBSCRIBE", {}});
    sent_to_connect_ = {.packets = 2, .bytes = stream_.encoded_bytes()};
    stream_.flush();
}

void Client::finish_connect() {
    step_ = Step::open;
    deadline_.cancel();
    tcp_.reset();
    arm_keep_alive();
    std::exchange(done_, nullptr)(facts_);
}

void Client::on_deadline() {
    const auto missing = [this](std::string_view what) {
        return fmt::format("no {} from {} within {} s", what, facts_.remote_address,
                           kConnectDeadline / support::kSecond);
    };
    std::string message;
    switch (step_) {
    case Step::connecting:
        message = fmt::format("no connection to '{}' port {} within {} s; tried {}", endpoint_.host,
                              endpoint_.port, kConnectDeadline / support::kSecond, tcp_->tried());
        break;
    case Step::tls:
        message = missing("end of the TLS handshake");
        break;
    case Step::connack:
        message = missing("CONNACK");
        break;
    case Step::suback:
        message = missing("SUBACK");
        break;
    default:
        return;
    }
    fail({ErrorCode::broker, std::move(message), {}});
}

// Ends the connection with an error: to whoever waits for connect(), else to the listener.
void Client::fail(Error error) {
    if (step_ == Step::closed)
        return;
    step_ = Step::closed;
    deadline_.cancel();
    keep_alive_timer_.cancel();
    stream_.close();
    if (done_)
        std::exchange(done_, nullptr)(std::move(error));
    else
        listener_.on_lost(std::move(error));
}

void Client::lose(std::string reason) { fail({ErrorCode::broker, std::move(reason), {}}); }

void Client::on_end(std::string how) {
    lose(fmt::format("the broker at {} {}", facts_.remote_address, how));
}

// --- measured path begins ---

void Client::on_packet(const Frame& frame, Nanoseconds now) {
    if (const Fault fault = handle(frame, now); fault != Fault::none) [[unlikely]]
        return break_off(fault, name_of(frame.type));
    ++received_.packets;
    received_.bytes += frame.wire_bytes;
}

Fault Client::handle(const Frame& frame, Nanoseconds now) {
    if (frame.type == PacketType::publish) [[likely]]
        return handle_publish(frame, now);
    switch (frame.type) {
    case PacketType::puback:
    case PacketType::pubrec:
    case PacketType::pubrel:
    case PacketType::pubcomp:
        return handle_ack(frame, now);
    case PacketType::connack:
        return handle_connack(frame);
    case PacketType::suback:
        return handle_suback(frame);
    case PacketType::pingresp:
        return handle_pingresp(frame, now);
    case PacketType::disconnect:
        return handle_disconnect(frame);
    // We never start an enhanced authentication, so the server may not continue one (5 section
    // 4.12); the rest only a client sends, or only after an UNSUBSCRIBE.
    default:
        return Fault::unexpected_packet;
    }
}

Fault Client::handle_publish(const Frame& frame, Nanoseconds now) {
    PublishView publish;
    if (const Fault fault = decode_publish(frame, endpoint_.protocol, publish);
        fault != Fault::none) [[unlikely]]
        return fault;
    // A server may send messages before the SUBACK (5 section 3.8.4).
    if (step_ != Step::open && step_ != Step::suback) [[unlikely]]
        return Fault::unexpected_packet;
    if (publish.topic_alias) [[unlikely]]
        return Fault::bad_topic_alias; // our maximum is 0
    seen_.dup_flagged += publish.is_dup;

    bool is_repeated = false;
    if (publish.qos == 1) {
        encode_ack(stream_.outgoing(), endpoint_.protocol, PacketType::puback, publish.packet_id);
        ++unflushed_acks_;
    } else if (publish.qos == 2) {
        encode_ack(stream_.outgoing(), endpoint_.protocol, PacketType::pubrec, publish.packet_id);
        // 3.1.1 section 4.3.3: until PUBREL the same identifier is the same message.
        is_repeated = qos2_ids_[publish.packet_id];
        seen_.qos2_repeated += is_repeated;
        open_qos2_ += !is_repeated;
        qos2_ids_[publish.packet_id] = true;
    }
    // A lower bound: acknowledgements of this turn have not left yet, so the server cannot have
    // counted them (5 section 4.9).
    seen_.receive_maximum_exceeded +=
        publish.qos && unflushed_acks_ + open_qos2_ > receive_maximum_;
    if (!is_repeated)
        listener_.on_publish(publish, now);
    ++received_.publishes;
    received_.publish_payload_bytes += publish.payload.size();
    return Fault::none;
}

Fault Client::handle_ack(const Frame& frame, Nanoseconds now) {
    AckView ack;
    if (const Fault fault = decode_ack(frame, endpoint_.protocol, ack); fault != Fault::none)
        return fault;
    if (frame.type != PacketType::pubrel) {
        listener_.on_ack(frame.type, ack, now);
        return Fault::none;
    }
    open_qos2_ -= qos2_ids_[ack.packet_id];
    qos2_ids_[ack.packet_id] = false;
    encode_ack(stream_.outgoing(), endpoint_.protocol, PacketType::pubcomp, ack.packet_id);
    return Fault::none;
}

void Client::on_turn_end() {
    listener_.on_turn_end();
    unflushed_acks_ = 0;
}

void Client::on_written(Nanoseconds now) {
    last_sent_ = now;
    listener_.on_written(now);
}

void Client::on_drained() {
    if (step_ == Step::open)
        listener_.on_drained();
}

// --- measured path ends ---

Fault Client::handle_connack(const Frame& frame) {
    if (step_ != Step::connack)
        return Fault::unexpected_packet;
    ConnackView connack;
    if (const Fault fault = decode_connack(frame, endpoint_.protocol, connack);
        fault != Fault::none)
        return fault;
    if (connack.code != 0) {
        lose(fmt::format("the broker at {} refused the connection: {}{}", facts_.remote_address,
                         endpoint_.protocol == Protocol::v5 ? describe_reason(connack.code)
                                                            : describe_return_code(connack.code),
                         and_reason(connack.properties.reason_string)));
        return Fault::none;
    }
    facts_.connect_ns = now_ns() - connect_started_;
    facts_.is_session_present = connack.is_session_present;
    facts_.receive_maximum = connack.properties.receive_maximum.value_or(kDefaultReceiveMaximum);
    facts_.maximum_qos = connack.properties.maximum_qos.value_or(2);
    facts_.maximum_packet_bytes = connack.properties.maximum_packet_size.value_or(kMaxPacketBytes);
    // 5 section 3.2.2.3.14: the server's value replaces ours.
    if (connack.properties.server_keep_alive)
        keep_alive_ns_ = *connack.properties.server_keep_alive * support::kSecond;
    if (filters_.empty())
        finish_connect();
    else
        send_subscribe();
    return Fault::none;
}

Fault Client::handle_suback(const Frame& frame) {
    SubackView suback;
    if (const Fault fault = decode_suback(frame, endpoint_.protocol, suback); fault != Fault::none)
        return fault;
    if (step_ != Step::suback || suback.packet_id != kSubscribeId ||
        suback.codes.size() != filters_.size())
        return Fault::unexpected_packet;
    facts_.granted_qos.assign(suback.codes.begin(), suback.codes.end());
    finish_connect();
    return Fault::none;
}

Fault Client::handle_pingresp(const Frame& frame, Nanoseconds now) {
    if (const Fault fault = decode_empty(frame); fault != Fault::none)
        return fault;
    if (pings_answered_ == pings_sent_)
        return Fault::unexpected_packet;
    ++pings_answered_;
    ping_sent_ = pings_answered_ == pings_sent_ ? 0 : now;
    listener_.on_pingresp(pings_answered_, now);
    return Fault::none;
}

Fault Client::handle_disconnect(const Frame& frame) {
    ReasonView reason;
    // 3.1.1 section 3.14: only the client sends it.
    if (endpoint_.protocol == Protocol::v311)
        return Fault::unexpected_packet;
    if (const Fault fault = decode_reason(frame, endpoint_.protocol, reason); fault != Fault::none)
        return fault;
    lose(fmt::format("the broker at {} sent DISCONNECT: {}{}", facts_.remote_address,
                     describe_reason(reason.reason_code), and_reason(reason.reason_string)));
    return Fault::none;
}

void Client::on_fault(Fault fault) { break_off(fault, "packet"); }

void Client::break_off(Fault fault, std::string_view packet) {
    // 5 section 4.13.1; before the CONNACK there is no session to take leave of.
    if (endpoint_.protocol == Protocol::v5 && step_ != Step::connack)
        encode_disconnect(stream_.outgoing(), endpoint_.protocol, reason_code_for(fault));
    lose(fmt::format("the peer closed the connection, because a {} of the broker at {} has {} [{}]",
                     packet, facts_.remote_address, describe(fault), name_of(fault)));
}

std::uint64_t Client::ping() {
    encode_pingreq(stream_.outgoing());
    if (ping_sent_ == 0)
        ping_sent_ = now_ns();
    ++pings_sent_;
    stream_.flush();
    return pings_sent_;
}

void Client::disconnect() {
    if (step_ == Step::open)
        encode_disconnect(stream_.outgoing(), endpoint_.protocol);
    step_ = Step::closed;
    deadline_.cancel();
    keep_alive_timer_.cancel();
    stream_.close();
}

void Client::arm_keep_alive() {
    if (keep_alive_ns_ == 0)
        return;
    keep_alive_timer_.expires_after(std::chrono::nanoseconds(keep_alive_ns_ / 8));
    keep_alive_timer_.async_wait([this](const asio::error_code& error) {
        if (!error && step_ == Step::open)
            keep_alive();
    });
}

// 3.1.1 section 3.1.2.10. A ping leaves after half the interval without a packet, so that a turn or
// two of delay do no harm; an answer that is missing for a whole interval ends the connection.
void Client::keep_alive() {
    const Nanoseconds now = now_ns();
    if (ping_sent_ && now > ping_sent_ + keep_alive_ns_)
        return lose(fmt::format("the broker at {} has not answered a PINGREQ for {} s",
                                facts_.remote_address, keep_alive_ns_ / support::kSecond));
    if (!ping_sent_ && now >= last_sent_ + keep_alive_ns_ / 2)
        ping();
    if (step_ == Step::open)
        arm_keep_alive();
}

} // namespace mqcore::peer
