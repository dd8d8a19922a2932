#pragma once
// What one party sends: encodes PUBLISH packets, keeps the window of unfinished messages and counts.
// A message is finished at QoS 0 when the transport has taken its last byte, at QoS 1 with PUBACK, at
// QoS 2 with PUBCOMP. Source and echo share it. Allocates at construction only. One thread.

#include "measure/histogram.hpp"
#include "measure/intervals.hpp"
#include "measure/schedule.hpp"
#include "peer/decode.hpp"
#include "peer/packet_stream.hpp"

#include <optional>
#include <vector>

namespace mqcore::peer {

class Publisher {
  public:
    // The window is at most what the other side allows at QoS 1 and 2 (5 section 3.2.2.3.3).
    // `stream` outlives it. `properties`: of every PUBLISH, a block without its length (MQTT 5).
    Publisher(PacketStream& stream, Protocol protocol, std::uint8_t qos, std::uint32_t window,
              std::uint16_t receive_maximum, const measure::Schedule& schedule,
              std::vector<std::uint8_t> properties = {});

    std::uint32_t window() const { return window_; }
    std::uint64_t sent() const { return sent_; }
    bool has_slot() const { return unfinished_ < window_; }

    // Encodes one message up to its payload and takes a slot. The answer is where the payload goes;
    // null: the packet would exceed what MQTT can carry, and nothing has happened.
    std::uint8_t* publish(std::string_view topic, std::size_t payload_bytes, Nanoseconds now);

    void on_ack(PacketType type, const AckView& ack, Nanoseconds now);
    void on_written(Nanoseconds now);

    // Error codes that the server has answered, for people: empty, or the first of them.
    const std::string& first_failure() const { return first_failure_; }
    // {"sent", "sent_window", "completed", "completed_window", "failed", "unfinished", "window",
    //  "unknown_acks", "first_failure", "acknowledged", "series"}
    support::JsonObject report() const;

  private:
    enum class Handshake : std::uint8_t { none, puback, pubrec, pubcomp };

    std::uint16_t take_packet_id();
    void finish(std::uint16_t packet_id, std::uint8_t reason_code, Nanoseconds now);
    void complete(Nanoseconds now) {
        --unfinished_;
        ++completed_;
        completed_by_interval_.add(now);
    }

    PacketStream& stream_;
    Protocol protocol_;
    measure::Schedule schedule_;
    std::uint8_t qos_;
    std::vector<std::uint8_t> properties_;
    std::uint32_t window_;
    std::uint32_t unfinished_ = 0;
    // QoS 0: where in the stream each unfinished message ends; a ring of `window` places.
    std::vector<std::uint64_t> ends_;
    std::size_t oldest_ = 0;
    // QoS 1 and 2: what each packet identifier waits for.
    std::vector<Handshake> handshakes_;
    std::uint16_t last_packet_id_ = 0;
    std::uint64_t sent_ = 0;
    measure::IntervalCounts sent_by_interval_;
    std::uint64_t completed_ = 0;
    measure::IntervalCounts completed_by_interval_;
    std::uint64_t failed_ = 0;
    std::uint64_t unknown_acks_ = 0; // for an identifier that waits for nothing of the kind
    std::string first_failure_;
    // With one in flight at a time: from the publish to its last acknowledgement, of those sent in the
    // schedule's window.
    bool is_alone_;
    Nanoseconds sent_at_ = 0;
    measure::Histogram acknowledged_;
};

} // namespace mqcore::peer
