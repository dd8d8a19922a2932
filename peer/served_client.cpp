#include "peer/served_client.hpp"

#include "measure/payload.hpp"
#include "peer/topic.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace mqcore::peer {
namespace {

using measure::ConnackAnswer;
using measure::PubackAnswer;
using measure::SubackAnswer;
using support::Json;
using support::JsonArray;
using support::JsonObject;

// Beyond these a client that does not read loses messages; the report counts them.
constexpr std::size_t kMostUnsentBytes = 16 * 1024 * 1024;
constexpr std::size_t kMostQueuedBytes = 64 * 1024 * 1024;

constexpr std::uint32_t kPacketIds = 65'535;

constexpr std::size_t kFirstPublishes = 16; // of a connection, in the report

} // namespace

ServedClient::ServedClient(asio::io_context& io, Link link,
                           const measure::ServerBehaviour& behaviour, ServerSide& server,
                           std::size_t number)
    : io_(io), behaviour_(behaviour), server_(server), number_(number),
      stream_(io, Protocol::v311, *this), last_packet_(support::now_ns()) {
    const Link& opened = stream_.open(std::move(link));
    remote_ = opened.remote_address();
    tls_ = opened.tls_facts();
    stream_.start_reading();
}

void ServedClient::on_packet(const Frame& frame, Nanoseconds now) {
    last_packet_ = now;
    ++packets_[static_cast<std::size_t>(frame.type)];
    bytes_received_ += frame.wire_bytes;
    if (const Fault fault = handle(frame, now); fault != Fault::none)
        break_off(fault, name_of(frame.type));
}

Fault ServedClient::handle(const Frame& frame, Nanoseconds now) {
    // 3.1.1 section 3.1: CONNECT is the first packet, and comes once.
    if ((frame.type == PacketType::connect) == has_connect_)
        return Fault::unexpected_packet;
    switch (frame.type) {
    case PacketType::connect:
        return handle_connect(frame);
    case PacketType::publish:
        return handle_publish(frame, now);
    case PacketType::pubrel:
        return handle_pubrel(frame);
    case PacketType::puback:
    case PacketType::pubrec:
    case PacketType::pubcomp:
        return handle_delivery_ack(frame, now);
    case PacketType::subscribe:
        return handle_subscribe(frame);
    case PacketType::unsubscribe:
        return handle_unsubscribe(frame);
    case PacketType::disconnect:
        return handle_disconnect(frame);
    case PacketType::pingreq:
        if (const Fault fault = decode_empty(frame); fault != Fault::none)
            return fault;
        encode_pingresp(stream_.outgoing());
        return Fault::none;
    default:
        return Fault::unexpected_packet;
    }
}

Fault ServedClient::handle_connect(const Frame& frame) {
    ConnectView connect;
    if (const Fault fault = decode_connect(frame, connect); fault != Fault::none)
        return fault;
    has_connect_ = true;
    protocol_ = connect.protocol;
    stream_.reader().set_protocol(protocol_);
    is_clean_ = connect.is_clean;
    session_expiry_s_ = connect.properties.session_expiry_interval.value_or(0);
    keepalive_s_ = connect.keepalive_s;
    client_receive_maximum_ = connect.properties.receive_maximum.value_or(kDefaultReceiveMaximum);
    client_id_ = connect.client_id;
    is_id_assigned_ = client_id_.empty();
    if (is_id_assigned_)
        client_id_ = fmt::format("assigned-{}", number_);
    if (behaviour_.connack == ConnackAnswer::never) {
        stream_.stop_reading();
        return Fault::none;
    }
    // Nothing that the client sends ahead is looked at before its CONNACK.
    stream_.stop_reading();
    after(behaviour_.connack_delay_ms, [this] { answer_connect(); });
    return Fault::none;
}

void ServedClient::answer_connect() {
    const bool is_refused = behaviour_.connack == ConnackAnswer::refuse;
    PropertyWriter properties;
    if (behaviour_.receive_maximum)
        properties.two_bytes(Property::receive_maximum,
                             static_cast<std::uint16_t>(behaviour_.receive_maximum));
    properties.two_bytes(Property::topic_alias_maximum, kTopicAliases);
    if (is_id_assigned_)
        properties.text(Property::assigned_client_identifier, client_id_);
    // No session outlives its connection here, so none is ever present.
    encode_connack(
        stream_.outgoing(), protocol_,
        {.is_session_present = false,
         .code = is_refused ? static_cast<std::uint8_t>(behaviour_.connack_code) : kSuccess,
         .properties = is_refused ? Bytes{} : properties.bytes()});
    if (is_refused)
        return close("the server refused it, as told");
    is_accepted_ = true;
    server_.take_over(*this);
    stream_.flush();
    if (behaviour_.stop_reading_after != 0u && stream_.is_open())
        stream_.start_reading();
    obey_publish_counts();
}

Fault ServedClient::handle_publish(const Frame& frame, Nanoseconds now) {
    PublishView publish;
    if (const Fault fault = decode_publish(frame, protocol_, publish); fault != Fault::none)
        return fault;
    if (const Fault fault = resolve_alias(publish); fault != Fault::none)
        return fault;
    ++publishes_[publish.qos];
    payload_bytes_ += publish.payload.size();
    dup_flagged_ += publish.is_dup;
    retained_ += publish.is_retained;
    if (first_.size() < kFirstPublishes && measure::carries_sequence(publish.payload.size()))
        first_.push_back(JsonObject{{"topic", publish.topic},
                                    {"stamp_ns", measure::read_stamp(publish.payload.data())},
                                    {"sequence", measure::read_sequence(publish.payload.data())}});

    bool is_repeated = false;
    if (publish.qos) {
        const bool is_in_use = unfinished_ids_[publish.packet_id];
        // 3.1.1 section 2.3.1: an identifier in use belongs to the message in flight.
        packet_id_reused_ += is_in_use && !publish.is_dup;
        is_repeated = is_in_use && publish.qos == 2;
        qos2_repeated_ += is_repeated;
        unfinished_ += !is_in_use;
        unfinished_ids_[publish.packet_id] = true;
        most_unfinished_ = std::max(most_unfinished_, unfinished_);
        receive_maximum_exceeded_ +=
            behaviour_.receive_maximum && unfinished_ > behaviour_.receive_maximum;
    }
    if (!is_repeated)
        server_.route(*this, publish, now);
    if (behaviour_.puback == PubackAnswer::normal)
        acknowledge(publish);
    obey_publish_counts();
    return Fault::none;
}

Fault ServedClient::resolve_alias(PublishView& publish) {
    if (!publish.properties.empty()) {
        PropertyValues values;
        static_cast<void>(read_properties(publish.properties, PacketType::publish,
                                          PropertyPlace::packet, values));
        with_user_properties_ += values.user_properties > 0;
    }
    if (publish.topic_alias == 0)
        return Fault::none;
    ++with_topic_alias_;
    with_empty_topic_ += publish.topic.empty();
    if (publish.topic_alias > kTopicAliases)
        return Fault::bad_topic_alias;
    std::string& topic = topic_by_alias_[publish.topic_alias];
    if (!publish.topic.empty())
        topic = publish.topic;
    else if (topic.empty())
        return Fault::bad_topic_alias;
    publish.topic = topic;
    // An alias holds for one connection only (5 section 3.3.2.3.4).
    copy_without(publish.properties, Property::topic_alias, forwarded_properties_);
    publish.properties = forwarded_properties_;
    return Fault::none;
}

void ServedClient::acknowledge(const PublishView& publish) {
    if (publish.qos == 0)
        return;
    const PacketType answer = publish.qos == 1 ? PacketType::puback : PacketType::pubrec;
    encode_ack(stream_.outgoing(), protocol_, answer, publish.packet_id);
    if (publish.qos == 1) {
        unfinished_ids_[publish.packet_id] = false;
        --unfinished_;
    }
}

void ServedClient::obey_publish_counts() {
    const std::uint64_t publishes = publishes_[0] + publishes_[1] + publishes_[2];
    if (behaviour_.drop_connection_after && publishes >= *behaviour_.drop_connection_after)
        return close("the server dropped it, as told");
    if (behaviour_.stop_reading_after && publishes >= *behaviour_.stop_reading_after)
        stream_.stop_reading();
}

Fault ServedClient::handle_pubrel(const Frame& frame) {
    AckView ack;
    if (const Fault fault = decode_ack(frame, protocol_, ack); fault != Fault::none)
        return fault;
    unfinished_ -= unfinished_ids_[ack.packet_id];
    unfinished_ids_[ack.packet_id] = false;
    if (behaviour_.puback == PubackAnswer::normal)
        encode_ack(stream_.outgoing(), protocol_, PacketType::pubcomp, ack.packet_id);
    return Fault::none;
}

// PUBACK, PUBREC and PUBCOMP for what we delivered.
Fault ServedClient::handle_delivery_ack(const Frame& frame, Nanoseconds now) {
    AckView ack;
    if (const Fault fault = decode_ack(frame, protocol_, ack); fault != Fault::none)
        return fault;
    if (server_.take_ack(frame.type, ack, now))
        return Fault::none;
    Handshake nothing = Handshake::none;
    Handshake& waits_for = deliveries_.empty() ? nothing : deliveries_[ack.packet_id];
    const bool is_final = (frame.type == PacketType::puback && waits_for == Handshake::puback) ||
                          (frame.type == PacketType::pubcomp && waits_for == Handshake::pubcomp) ||
                          (frame.type == PacketType::pubrec && waits_for == Handshake::pubrec &&
                           is_failure(ack.reason_code));
    if (is_final) {
        waits_for = Handshake::none;
        --unfinished_deliveries_;
        deliver_queued();
    } else if (frame.type == PacketType::pubrec) {
        if (waits_for == Handshake::pubrec)
            waits_for = Handshake::pubcomp;
        else
            ++unknown_acks_;
        encode_ack(stream_.outgoing(), protocol_, PacketType::pubrel, ack.packet_id);
    } else {
        ++unknown_acks_;
    }
    return Fault::none;
}

Fault ServedClient::handle_subscribe(const Frame& frame) {
    SubscribeView subscribe;
    if (const Fault fault = decode_subscribe(frame, protocol_, subscribe); fault != Fault::none)
        return fault;
    std::vector<std::uint8_t> codes;
    FilterView asked;
    while (next_filter(subscribe.filters, true, asked)) {
        std::uint8_t qos = asked.qos;
        if (behaviour_.suback == SubackAnswer::lower && qos > 0)
            --qos;
        if (behaviour_.suback == SubackAnswer::refuse) {
            codes.push_back(kUnspecifiedError);
            continue;
        }
        codes.push_back(qos);
        // 3.1.1 section 3.8.4: the same filter again replaces the subscription.
        std::erase_if(subscriptions_,
                      [&](const Subscription& old) { return old.filter == asked.filter; });
        subscriptions_.push_back({.filter = std::string(asked.filter),
                                  .qos = qos,
                                  .is_no_local = asked.is_no_local,
                                  .is_retain_as_published = asked.is_retain_as_published});
    }
    after(behaviour_.suback_delay_ms, [this, id = subscribe.packet_id, codes = std::move(codes)] {
        encode_suback(stream_.outgoing(), protocol_, id, codes);
        stream_.flush();
    });
    return Fault::none;
}

Fault ServedClient::handle_unsubscribe(const Frame& frame) {
    SubscribeView unsubscribe;
    if (const Fault fault = decode_unsubscribe(frame, protocol_, unsubscribe); fault != Fault::none)
        return fault;
    std::vector<std::uint8_t> codes;
    FilterView asked;
    while (next_filter(unsubscribe.filters, false, asked)) {
        const auto removed = std::erase_if(
            subscriptions_, [&](const Subscription& old) { return old.filter == asked.filter; });
        codes.push_back(removed ? kSuccess : kNoSubscriptionExisted);
    }
    encode_unsuback(stream_.outgoing(), protocol_, unsubscribe.packet_id, codes);
    return Fault::none;
}

Fault ServedClient::handle_disconnect(const Frame& frame) {
    ReasonView reason;
    if (const Fault fault = decode_reason(frame, protocol_, reason); fault != Fault::none)
        return fault;
    close("the client sent DISCONNECT" +
          (reason.reason_code ? " " + describe_reason(reason.reason_code) : std::string()));
    return Fault::none;
}

std::optional<std::uint8_t> ServedClient::granted_for(std::string_view topic) const {
    std::optional<std::uint8_t> best;
    for (const Subscription& subscription : subscriptions_)
        if (matches(subscription.filter, topic))
            best = std::max(best.value_or(0), subscription.qos);
    return best;
}

void ServedClient::offer(const ServedClient& from, const PublishView& publish) {
    const Subscription* best = nullptr; // overlapping ones deliver once, at the highest QoS
    for (const Subscription& subscription : subscriptions_)
        if (matches(subscription.filter, publish.topic) &&
            !(subscription.is_no_local && &from == this) && (!best || subscription.qos > best->qos))
            best = &subscription;
    if (best)
        deliver({.topic = publish.topic,
                 .qos = std::min(best->qos, publish.qos),
                 .is_retained = publish.is_retained && best->is_retain_as_published,
                 .properties = publish.properties},
                publish.payload);
}

// At QoS 0 a client that does not read loses messages; at QoS 1 and 2 they wait for it.
void ServedClient::deliver(const PublishFields& fields, Bytes payload) {
    const bool must_wait = fields.qos > 0 && (!queued_.empty() || !has_room());
    const bool is_too_much = must_wait ? queued_bytes_ + payload.size() > kMostQueuedBytes
                                       : stream_.unsent_bytes() > kMostUnsentBytes;
    if (is_too_much) {
        ++dropped_;
    } else if (must_wait) {
        queued_bytes_ += payload.size();
        queued_.push_back({.topic = std::string(fields.topic),
                           .payload = {payload.begin(), payload.end()},
                           .properties = {fields.properties.begin(), fields.properties.end()},
                           .qos = fields.qos,
                           .is_retained = fields.is_retained});
    } else {
        transmit(fields, payload);
    }
}

bool ServedClient::has_room() const {
    return unfinished_deliveries_ < client_receive_maximum_ &&
           stream_.unsent_bytes() <= kMostUnsentBytes;
}

// Acknowledgements make room, and there are some to come whenever messages wait.
void ServedClient::deliver_queued() {
    while (!queued_.empty() && has_room()) {
        const Queued& message = queued_.front();
        transmit({.topic = message.topic,
                  .qos = message.qos,
                  .is_retained = message.is_retained,
                  .properties = message.properties},
                 message.payload);
        queued_bytes_ -= message.payload.size();
        queued_.pop_front();
    }
}

void ServedClient::transmit(PublishFields fields, Bytes payload) {
    const std::uint8_t qos = fields.qos;
    const std::uint16_t packet_id = qos ? take_packet_id() : std::uint16_t{0};
    fields.packet_id = packet_id;
    std::uint8_t* at = encode_publish(stream_.outgoing(), protocol_, fields, payload.size());
    // The message came in one packet; only where an alias stood for its topic may it not fit one.
    if (!at) {
        ++dropped_;
        return;
    }
    if (!payload.empty())
        std::memcpy(at, payload.data(), payload.size());
    ++delivered_[qos];
    if (qos) {
        deliveries_[packet_id] = qos == 1 ? Handshake::puback : Handshake::pubrec;
        ++unfinished_deliveries_;
    }
}

// There is a free one: unfinished deliveries stay below the number of identifiers.
std::uint16_t ServedClient::take_packet_id() {
    if (deliveries_.empty())
        deliveries_.resize(kPacketIds + 1, Handshake::none);
    do
        last_packet_id_ = last_packet_id_ == kPacketIds
                              ? std::uint16_t{1}
                              : static_cast<std::uint16_t>(last_packet_id_ + 1);
    while (deliveries_[last_packet_id_] != Handshake::none);
    return last_packet_id_;
}

void ServedClient::break_off(Fault fault, std::string_view packet) {
    fault_ = fault;
    const std::string reason = fmt::format(
        "the server closed it, because a {} of the client has {}", packet, describe(fault));
    // 5 section 4.13.1: before CONNACK there is nothing to disconnect from.
    close(reason, is_accepted_ ? std::optional(reason_code_for(fault)) : std::nullopt);
}

void ServedClient::close(std::string reason, std::optional<std::uint8_t> reason_code) {
    if (!stream_.is_open())
        return;
    if (reason_code && protocol_ == Protocol::v5)
        encode_disconnect(stream_.outgoing(), protocol_, *reason_code);
    ended_ = std::move(reason);
    stream_.close();
}

void ServedClient::close_if_silent(Nanoseconds now) {
    constexpr std::uint8_t kKeepAliveTimeout = 0x8D;
    const Nanoseconds limit = keepalive_s_ * support::kSecond * 3 / 2;
    const bool is_ours = behaviour_.stop_reading_after.has_value(); // we do not listen: no verdict
    if (is_connected() && limit && !is_ours && now > last_packet_ + limit)
        close(fmt::format("the server closed it, because the client was silent for {} s, one and a "
                          "half times its keep alive",
                          keepalive_s_ * 1.5),
              kKeepAliveTimeout);
}

// At once, or when the delay is over and the connection still there.
void ServedClient::after(std::uint32_t delay_ms, std::function<void()> step) {
    if (delay_ms == 0)
        return step();
    timers_.push_back(
        std::make_unique<asio::steady_timer>(io_, std::chrono::milliseconds(delay_ms)));
    timers_.back()->async_wait([this, step = std::move(step)](const asio::error_code& error) {
        if (!error && stream_.is_open())
            step();
    });
}

Json ServedClient::report() const {
    JsonObject packets;
    for (std::size_t type = 0; type < packets_.size(); ++type)
        if (packets_[type])
            packets[name_of(static_cast<PacketType>(type))] = packets_[type];
    JsonArray subscriptions;
    for (const Subscription& subscription : subscriptions_)
        subscriptions.push_back(
            JsonObject{{"filter", subscription.filter}, {"qos", subscription.qos}});
    return JsonObject{
        {"client_id", client_id_},
        {"remote", remote_},
        {"protocol", has_connect_ ? Json(measure::name_of(protocol_)) : Json(nullptr)},
        {"accepted", is_accepted_},
        {"clean", is_clean_},
        {"session_expiry_s", session_expiry_s_},
        {"keepalive_s", keepalive_s_},
        {"receive_maximum", client_receive_maximum_},
        {"ended", ended_.empty() ? Json(nullptr) : Json(ended_)},
        {"fault", fault_ == Fault::none ? Json(nullptr) : Json(name_of(fault_))},
        {"packets", std::move(packets)},
        {"bytes_received", bytes_received_},
        {"publishes", JsonArray(publishes_.begin(), publishes_.end())},
        {"payload_bytes", payload_bytes_},
        {"dup_flagged", dup_flagged_},
        {"retained", retained_},
        {"qos2_repeated", qos2_repeated_},
        {"packet_id_reused", packet_id_reused_},
        {"unfinished", unfinished_},
        {"most_unfinished", most_unfinished_},
        {"receive_maximum_exceeded", receive_maximum_exceeded_},
        {"with_user_properties", with_user_properties_},
        {"with_topic_alias", with_topic_alias_},
        {"with_empty_topic", with_empty_topic_},
        {"first", first_},
        {"subscriptions", std::move(subscriptions)},
        {"delivered", JsonArray(delivered_.begin(), delivered_.end())},
        {"unfinished_deliveries", unfinished_deliveries_},
        {"queued", queued_.size()},
        {"dropped", dropped_},
        {"unknown_acks", unknown_acks_}};
}

} // namespace mqcore::peer
