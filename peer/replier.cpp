#include "peer/replier.hpp"

#include <fmt/format.h>

namespace mqcore::peer {

Replier::Replier(const measure::SendSpec& spec, Failed failed)
    : spec_(spec), failed_(std::move(failed)) {}

void Replier::begin(PacketStream& stream, Protocol protocol, std::uint16_t receive_maximum,
                    const measure::Schedule& schedule) {
    stream_ = &stream;
    publisher_.emplace(stream, protocol, static_cast<std::uint8_t>(spec_.qos), spec_.window,
                       receive_maximum, schedule);
}

// --- measured path begins ---

void Replier::answer(Bytes payload) {
    if (queued_.is_empty() && publisher_->has_slot())
        reply(payload);
    else
        queue(payload);
}

bool Replier::reply(Bytes payload) {
    std::uint8_t* at = publisher_->publish(spec_.topics.front(), payload.size(), support::now_ns());
    if (!at) [[unlikely]] {
        failed_({support::ErrorCode::wrong_input,
                 fmt::format("a reply of {} bytes does not fit an MQTT packet", payload.size()),
                 {}});
        return false;
    }
    if (!payload.empty())
        std::memcpy(at, payload.data(), payload.size());
    return true;
}

void Replier::queue(Bytes payload) {
    const std::uint64_t length = payload.size();
    if (queued_.size() + sizeof length + length > kMostQueuedBytes) [[unlikely]]
        return failed_({support::ErrorCode::peer,
                        fmt::format("the echo has more than {} MiB of requests that wait for the "
                                    "reply window of {}",
                                    kMostQueuedBytes >> 20, publisher_->window()),
                        "offer less, or give the echo a larger window"});
    ++window_full_;
    std::memcpy(queued_.extend(sizeof length), &length, sizeof length);
    queued_.append(payload);
}

void Replier::send_queued() {
    if (queued_.is_empty())
        return;
    // At QoS 0 the transport frees the slots, not the server.
    if (!publisher_->has_slot())
        stream_->flush();
    while (!queued_.is_empty() && publisher_->has_slot()) {
        std::uint64_t length;
        std::memcpy(&length, queued_.data(), sizeof length);
        if (!reply(queued_.bytes().subspan(sizeof length, length)))
            return;
        queued_.consume(sizeof length + length);
        if (!publisher_->has_slot())
            stream_->flush();
    }
}

// --- measured path ends ---

support::Json Replier::report() const {
    if (!publisher_)
        return nullptr;
    support::JsonObject report = publisher_->report();
    report["slept"] = 0;
    report["window_full"] = window_full_;
    report["due_in_window"] = nullptr; // the client's offer, not ours
    report["never_sent"] = nullptr;
    report["lag"] = nullptr;
    return report;
}

} // namespace mqcore::peer
