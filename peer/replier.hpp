#pragma once
// Sends each request back to one reply topic, payload unchanged. Requests that find the reply window
// full wait in a queue of bounded size. One thread.

#include "peer/publisher.hpp"
#include "support/result.hpp"

#include <functional>
#include <optional>

namespace mqcore::peer {

class Replier {
  public:
    static constexpr std::size_t kMostQueuedBytes = 64 * 1024 * 1024;
    using Failed = std::function<void(const support::Error&)>;

    // spec.topics[0] is where replies go.
    Replier(const measure::SendSpec& spec, Failed failed);

    // `stream` outlives it. receive_maximum: of the other side.
    void begin(PacketStream& stream, Protocol protocol, std::uint16_t receive_maximum,
               const measure::Schedule& schedule);
    void answer(Bytes payload); // after begin()

    // What the stream's handler passes on.
    void on_ack(PacketType type, const AckView& ack, Nanoseconds now) {
        if (publisher_)
            publisher_->on_ack(type, ack, now);
    }
    void on_written(Nanoseconds now) {
        if (publisher_)
            publisher_->on_written(now);
    }
    // A turn has ended, or the transport has drained: there may be room again.
    void send_queued();

    support::Json report() const; // null before begin()

  private:
    bool reply(Bytes payload);
    void queue(Bytes payload);

    measure::SendSpec spec_;
    Failed failed_;
    PacketStream* stream_ = nullptr;
    std::optional<Publisher> publisher_;
    ByteQueue queued_; // payloads, each after its length in eight bytes
    std::uint64_t window_full_ = 0;
};

} // namespace mqcore::peer
