#include "peer/publisher.hpp"

#include "peer/encode.hpp"

#include <algorithm>

namespace mqcore::peer {
namespace {

constexpr std::uint32_t kPacketIds = 65'535;

std::uint32_t effective_window(std::uint8_t qos, std::uint32_t window,
                               std::uint16_t receive_maximum) {
    const std::uint32_t allowed = qos == 0 ? kPacketIds : receive_maximum;
    return std::clamp<std::uint32_t>(window, 1, allowed);
}

} // namespace

Publisher::Publisher(PacketStream& stream, Protocol protocol, std::uint8_t qos,
                     std::uint32_t window, std::uint16_t receive_maximum,
                     const measure::Schedule& schedule, std::vector<std::uint8_t> properties)
    : stream_(stream), protocol_(protocol), schedule_(schedule), qos_(qos),
      properties_(std::move(properties)), window_(effective_window(qos, window, receive_maximum)),
      ends_(qos == 0 ? window_ : 0), handshakes_(qos == 0 ? 0 : kPacketIds + 1, Handshake::none),
      sent_by_interval_(schedule), completed_by_interval_(schedule),
      is_alone_(qos != 0 && window_ == 1) {}

// --- measured path begins ---

std::uint8_t* Publisher::publish(std::string_view topic, std::size_t payload_bytes,
                                 Nanoseconds now) {
    const std::uint16_t packet_id = qos_ ? take_packet_id() : std::uint16_t{0};
    std::uint8_t* payload = encode_publish(
        stream_.outgoing(), protocol_,
        {.topic = topic, .qos = qos_, .packet_id = packet_id, .properties = properties_},
        payload_bytes);
    if (!payload) [[unlikely]]
        return nullptr;
    if (qos_ == 0) {
        std::size_t place = oldest_ + unfinished_;
        if (place >= window_)
            place -= window_;
        ends_[place] = stream_.encoded_bytes();
    } else {
        handshakes_[packet_id] = qos_ == 1 ? Handshake::puback : Handshake::pubrec;
    }
    ++unfinished_;
    ++sent_;
    sent_at_ = now;
    sent_by_interval_.add(now);
    return payload;
}

// The window is smaller than the number of identifiers, so there is a free one; acknowledgements
// mostly come in order, so it is mostly the next.
std::uint16_t Publisher::take_packet_id() {
    do
        last_packet_id_ = last_packet_id_ == kPacketIds
                              ? std::uint16_t{1}
                              : static_cast<std::uint16_t>(last_packet_id_ + 1);
    while (handshakes_[last_packet_id_] != Handshake::none);
    return last_packet_id_;
}

void Publisher::on_written(Nanoseconds now) {
    if (qos_ != 0)
        return;
    const std::uint64_t written = stream_.written_bytes();
    while (unfinished_ && ends_[oldest_] <= written) {
        complete(now);
        oldest_ = oldest_ + 1 == window_ ? 0 : oldest_ + 1;
    }
}

void Publisher::on_ack(PacketType type, const AckView& ack, Nanoseconds now) {
    const Handshake waits_for = qos_ ? handshakes_[ack.packet_id] : Handshake::none;
    if (type == PacketType::puback && waits_for == Handshake::puback)
        return finish(ack.packet_id, ack.reason_code, now);
    if (type == PacketType::pubcomp && waits_for == Handshake::pubcomp)
        return finish(ack.packet_id, ack.reason_code, now);
    if (type == PacketType::pubrec && waits_for == Handshake::pubrec) {
        // 5 section 4.3.3: an error code in PUBREC ends the exchange.
        if (is_failure(ack.reason_code))
            return finish(ack.packet_id, ack.reason_code, now);
        handshakes_[ack.packet_id] = Handshake::pubcomp;
        encode_ack(stream_.outgoing(), protocol_, PacketType::pubrel, ack.packet_id);
        return;
    }
    // A repeated PUBREC still wants its PUBREL (3.1.1 section 4.3.3).
    if (type == PacketType::pubrec)
        encode_ack(stream_.outgoing(), protocol_, PacketType::pubrel, ack.packet_id);
    ++unknown_acks_;
}

void Publisher::finish(std::uint16_t packet_id, std::uint8_t reason_code, Nanoseconds now) {
    handshakes_[packet_id] = Handshake::none;
    if (is_alone_ && schedule_.in_window(sent_at_))
        acknowledged_.record(now - sent_at_);
    if (!is_failure(reason_code)) [[likely]]
        return complete(now);
    --unfinished_;
    if (failed_++ == 0)
        first_failure_ = describe_reason(reason_code);
}

// --- measured path ends ---

support::JsonObject Publisher::report() const {
    support::JsonObject report{
        {"sent", sent_},           {"sent_window", sent_by_interval_.in_window()},
        {"completed", completed_}, {"completed_window", completed_by_interval_.in_window()},
        {"failed", failed_},       {"unfinished", unfinished_},
        {"window", window_},       {"unknown_acks", unknown_acks_}};
    report["first_failure"] =
        first_failure_.empty() ? support::Json(nullptr) : support::Json(first_failure_);
    report["acknowledged"] = is_alone_ ? acknowledged_.to_json() : support::Json(nullptr);
    report["series"] =
        support::JsonObject{{"sent", measure::to_json(sent_by_interval_.counts())},
                            {"completed", measure::to_json(completed_by_interval_.counts())}};
    return report;
}

} // namespace mqcore::peer
