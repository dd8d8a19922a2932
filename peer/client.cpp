#include "peer/client.hpp"

#include <asio/post.hpp>

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

// A turn reads at most this often before timers and the control channel get theirs.
constexpr int kReadsPerTurn = 4;
constexpr std::uint16_t kSubscribeId = 1;

} // namespace

Client::Client(asio::io_context& io, measure::Endpoint endpoint, ClientListener& listener)
    : io_(io), endpoint_(std::move(endpoint)), listener_(listener), deadline_(io),
      keep_alive_timer_(io), reader_(endpoint_.protocol) {
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
    link_.emplace(std::move(link));
    facts_.remote_address = link_->remote_address();
    step_ = Step::open;
    arm_read();
}

void Client::tcp_connected(Link link) {
    link_.emplace(std::move(link));
    facts_.has_tcp_nodelay = link_->has_tcp_nodelay();
    facts_.local_address = link_->local_address();
    facts_.remote_address = link_->remote_address();
    if (!facts_.has_tcp_nodelay)
        return fail({ErrorCode::peer, "TCP_NODELAY could not be set on the peer's socket", {}});
    if (endpoint_.ca_file.empty())
        return send_connect();
    step_ = Step::tls;
    link_->start_tls(endpoint_.ca_file, endpoint_.host, [this](Result<void> result) {
        if (!result)
            return fail({ErrorCode::broker,
                         fmt::format("{}: {}", facts_.remote_address, result.error().message),
                         result.error().hint});
        facts_.tls = link_->tls_facts();
        send_connect();
    });
}

void Client::send_connect() {
    step_ = Step::connack;
    PropertyWriter properties;
    if (endpoint_.receive_maximum)
        properties.two_bytes(Property::receive_maximum,
                             static_cast<std::uint16_t>(endpoint_.receive_maximum));
    const ConnectFields fields{
        .protocol = endpoint_.protocol,
        .client_id = endpoint_.client_id,
        .keepalive_s = static_cast<std::uint16_t>(std::min(endpoint_.keepalive_s, 0xFFFFu)),
        .is_clean = true,
        .user_name = std::nullopt,
        .password = std::nullopt,
        .properties = properties.bytes()};
    if (!encode_connect(outgoing_, fields))
        return fail({ErrorCode::wrong_input, "the client id is longer than 65,535 bytes", {}});
    keep_alive_ns_ = endpoint_.keepalive_s * support::kSecond;
    connect_packets_ = 1;
    write_outgoing();
    if (step_ == Step::connack)
        arm_read();
}

void Client::send_subscribe() {
    step_ = Step::suback;
    std::vector<FilterFields> fields;
    for (const std::string& filter : filters_)
        fields.push_back({.filter = filter, .options = subscribe_qos_});
    if (!encode_subscribe(outgoing_, endpoint_.protocol, kSubscribeId, fields))
        return fail({ErrorCode::wrong_input, "the topic filters do not fit one SUBSCRIBE", {}});
    connect_packets_ = 2;
    write_outgoing();
}

void Client::finish_connect() {
    step_ = Step::open;
    deadline_.cancel();
    tcp_.reset();
    connect_bytes_ = encoded_bytes();
    last_sent_ = now_ns();
    arm_keep_alive();
    std::exchange(done_, nullptr)(std::move(facts_));
}

void Client::on_deadline() {
    const auto where = [this](std::string_view what) {
        return fmt::format("{} from {} within {} s", what, facts_.remote_address,
                           kConnectDeadline / support::kSecond);
    };
    std::string message;
    switch (step_) {
    case Step::connecting:
        message = fmt::format("no connection to '{}' port {} within {} s; tried {}", endpoint_.host,
                              endpoint_.port, kConnectDeadline / support::kSecond, tcp_->tried());
        break;
    case Step::tls:
        message = where("no end of the TLS handshake");
        break;
    case Step::connack:
        message = where("no CONNACK");
        break;
    case Step::suback:
        message = where("no SUBACK");
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
    if (link_)
        link_->close();
    if (done_)
        std::exchange(done_, nullptr)(std::move(error));
    else
        listener_.on_lost(std::move(error));
}

void Client::lose(std::string reason) { fail({ErrorCode::broker, std::move(reason), {}}); }

void Client::arm_read() {
    // Records that OpenSSL has decrypted already do not make the socket readable.
    if (link_->has_buffered_input())
        asio::post(io_, [this] {
            if (step_ != Step::closed)
                read_turn();
        });
    else
        link_->when_readable([this] { read_turn(); });
}

// --- measured path begins ---

void Client::read_turn() {
    for (int reads = 0; reads < kReadsPerTurn; ++reads) {
        const std::span<std::uint8_t> space = reader_.space();
        const IoResult result = link_->read_some(space);
        if (result.state == IoResult::State::would_block)
            break;
        if (result.state == IoResult::State::closed)
            return lose(fmt::format("the broker at {} closed the connection ({})",
                                    facts_.remote_address, link_->error_text()));
        if (result.state == IoResult::State::failed)
            return lose(fmt::format("the connection to {} broke: {}", facts_.remote_address,
                                    link_->error_text()));
        reader_.filled(result.bytes);
        // One clock read for all that this read has completed: the messages are in our memory now,
        // and how long we take to look at them is not part of their latency.
        const Nanoseconds now = now_ns();
        Frame frame;
        while (reader_.next(frame)) {
            if (!handle(frame, now))
                return;
            ++received_.packets;
            received_.bytes += frame.wire_bytes;
        }
        if (reader_.fault() != Fault::none) {
            break_protocol(reader_.fault(), frame);
            return;
        }
        if (result.bytes < space.size() && !link_->has_buffered_input())
            break;
    }
    listener_.on_turn_end();
    flush();
    unflushed_acks_ = 0;
    if (step_ != Step::closed)
        arm_read();
}

// False: the connection has ended.
bool Client::handle(const Frame& frame, Nanoseconds now) {
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
    case PacketType::disconnect:
        return handle_disconnect(frame);
    case PacketType::pingresp:
        if (const Fault fault = decode_empty(frame); fault != Fault::none)
            return break_protocol(fault, frame);
        if (++pings_answered_ > pings_sent_)
            return break_protocol(Fault::unexpected_packet, frame);
        ping_sent_ = pings_answered_ == pings_sent_ ? 0 : now;
        listener_.on_pingresp(pings_answered_, now);
        return true;
    // We never start an enhanced authentication, so the server may not continue one
    // (5 section 4.12); the rest only a client sends, or only after an UNSUBSCRIBE.
    default:
        return break_protocol(Fault::unexpected_packet, frame);
    }
}

bool Client::handle_publish(const Frame& frame, Nanoseconds now) {
    PublishView publish;
    if (const Fault fault = decode_publish(frame, endpoint_.protocol, publish);
        fault != Fault::none) [[unlikely]]
        return break_protocol(fault, frame);
    if (step_ != Step::open && step_ != Step::suback) [[unlikely]]
        return break_protocol(Fault::unexpected_packet, frame);
    if (publish.topic_alias) [[unlikely]]
        return break_protocol(Fault::bad_topic_alias, frame); // our maximum is 0
    if (publish.is_dup) [[unlikely]]
        ++dup_flagged_;

    if (publish.qos == 1) {
        encode_ack(outgoing_, endpoint_.protocol, PacketType::puback, publish.packet_id);
        ++unflushed_acks_;
    } else if (publish.qos == 2) {
        encode_ack(outgoing_, endpoint_.protocol, PacketType::pubrec, publish.packet_id);
        // 3.1.1 section 4.3.3: until PUBREL the same identifier is the same message.
        if (qos2_ids_[publish.packet_id]) {
            ++qos2_repeated_;
            ++received_.publishes;
            received_.publish_payload_bytes += publish.payload.size();
            return true;
        }
        qos2_ids_[publish.packet_id] = true;
        ++open_qos2_;
    }
    // A lower bound: acknowledgements of this turn have not left yet, so the server cannot have
    // counted them (5 section 4.9).
    if (publish.qos && unflushed_acks_ + open_qos2_ > receive_maximum_) [[unlikely]]
        ++receive_maximum_exceeded_;
    listener_.on_publish(publish, now);
    ++received_.publishes;
    received_.publish_payload_bytes += publish.payload.size();
    return step_ != Step::closed;
}

bool Client::handle_ack(const Frame& frame, Nanoseconds now) {
    AckView ack;
    if (const Fault fault = decode_ack(frame, endpoint_.protocol, ack); fault != Fault::none)
        return break_protocol(fault, frame);
    if (frame.type == PacketType::pubrel) {
        if (qos2_ids_[ack.packet_id]) {
            qos2_ids_[ack.packet_id] = false;
            --open_qos2_;
        }
        encode_ack(outgoing_, endpoint_.protocol, PacketType::pubcomp, ack.packet_id);
        return true;
    }
    listener_.on_ack(frame.type, ack, now);
    return step_ != Step::closed;
}

void Client::flush() {
    if (is_write_armed_ || outgoing_.is_empty())
        return;
    write_outgoing();
}

void Client::write_outgoing() {
    while (!outgoing_.is_empty()) {
        const IoResult result = link_->write_some(outgoing_.bytes());
        if (result.state == IoResult::State::would_block) {
            is_write_armed_ = true;
            link_->when_writable([this] {
                is_write_armed_ = false;
                write_outgoing();
                if (step_ == Step::open && !is_write_armed_)
                    listener_.on_drained();
            });
            return;
        }
        if (result.state != IoResult::State::done)
            return lose(fmt::format("the connection to {} broke while writing: {}",
                                    facts_.remote_address, link_->error_text()));
        outgoing_.consume(result.bytes);
        written_bytes_ += result.bytes;
        last_sent_ = now_ns();
        listener_.on_written(last_sent_);
    }
}

// --- measured path ends ---

bool Client::handle_connack(const Frame& frame) {
    if (step_ != Step::connack)
        return break_protocol(Fault::unexpected_packet, frame);
    ConnackView connack;
    if (const Fault fault = decode_connack(frame, endpoint_.protocol, connack);
        fault != Fault::none)
        return break_protocol(fault, frame);
    if (connack.code != 0) {
        lose(fmt::format("the broker at {} refused the connection: {}{}{}", facts_.remote_address,
                         endpoint_.protocol == Protocol::v5 ? describe_reason(connack.code)
                                                            : describe_return_code(connack.code),
                         connack.properties.reason_string.empty() ? "" : ", ",
                         connack.properties.reason_string));
        return false;
    }
    facts_.connect_ns = now_ns() - connect_started_;
    facts_.is_session_present = connack.is_session_present;
    facts_.receive_maximum = connack.properties.receive_maximum.value_or(kDefaultReceiveMaximum);
    // 5 section 3.2.2.3.14: the server's value replaces ours.
    if (connack.properties.server_keep_alive)
        keep_alive_ns_ = *connack.properties.server_keep_alive * support::kSecond;
    if (filters_.empty())
        finish_connect();
    else
        send_subscribe();
    return step_ != Step::closed;
}

bool Client::handle_suback(const Frame& frame) {
    SubackView suback;
    if (const Fault fault = decode_suback(frame, endpoint_.protocol, suback); fault != Fault::none)
        return break_protocol(fault, frame);
    if (step_ != Step::suback || suback.packet_id != kSubscribeId ||
        suback.codes.size() != filters_.size())
        return break_protocol(Fault::unexpected_packet, frame);
    facts_.granted_qos.assign(suback.codes.begin(), suback.codes.end());
    finish_connect();
    return step_ != Step::closed;
}

bool Client::handle_disconnect(const Frame& frame) {
    ReasonView reason;
    // 3.1.1 section 3.14: only the client sends it.
    if (endpoint_.protocol == Protocol::v311)
        return break_protocol(Fault::unexpected_packet, frame);
    if (const Fault fault = decode_reason(frame, endpoint_.protocol, reason); fault != Fault::none)
        return break_protocol(fault, frame);
    lose(fmt::format("the broker at {} sent DISCONNECT: {}{}{}", facts_.remote_address,
                     describe_reason(reason.reason_code), reason.reason_string.empty() ? "" : ", ",
                     reason.reason_string));
    return false;
}

bool Client::break_protocol(Fault fault, const Frame& frame) {
    if (endpoint_.protocol == Protocol::v5 && step_ != Step::connack) {
        encode_disconnect(outgoing_, endpoint_.protocol, reason_code_for(fault));
        static_cast<void>(link_->write_some(outgoing_.bytes())); // as a courtesy, once
    }
    const std::string_view packet =
        frame.type == PacketType::reserved ? "its packet" : name_of(frame.type);
    lose(fmt::format("the peer closed the connection to {}: {} of the broker has {} [{}]",
                     facts_.remote_address, packet, describe(fault), name_of(fault)));
    return false;
}

std::uint64_t Client::ping() {
    encode_pingreq(outgoing_);
    if (ping_sent_ == 0)
        ping_sent_ = now_ns();
    flush();
    return ++pings_sent_;
}

void Client::disconnect() {
    if (step_ != Step::open)
        return;
    encode_disconnect(outgoing_, endpoint_.protocol);
    static_cast<void>(link_->write_some(outgoing_.bytes()));
    step_ = Step::closed;
    keep_alive_timer_.cancel();
    link_->close();
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
    if (ping_sent_ && now - ping_sent_ > keep_alive_ns_)
        return lose(fmt::format("the broker at {} has not answered a PINGREQ for {} s",
                                facts_.remote_address, keep_alive_ns_ / support::kSecond));
    if (!ping_sent_ && now - last_sent_ >= keep_alive_ns_ / 2)
        ping();
    if (step_ == Step::open)
        arm_keep_alive();
}

} // namespace mqcore::peer
