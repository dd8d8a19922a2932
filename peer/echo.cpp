#include "peer/echo.hpp"

#include <fmt/format.h>

namespace mqcore::peer {

void Echo::begin(const measure::Schedule& schedule) {
    receipts_.begin(schedule);
    publisher_.emplace(client_, static_cast<std::uint8_t>(spec_.send->qos), spec_.send->window,
                       facts_.receive_maximum, schedule);
}

// --- measured path begins ---

void Echo::on_publish(const PublishView& publish, Nanoseconds now) {
    // A message of another run is no request. A damaged or doubled one is answered as it is: the
    // client's side must see it too.
    if (receipts_.record(publish, now) == measure::ArrivalRecorder::Verdict::stray)
        return;
    if (queued_.is_empty() && publisher_->has_slot())
        reply(publish.payload);
    else
        queue(publish.payload);
}

bool Echo::reply(Bytes payload) {
    std::uint8_t* at =
        publisher_->publish(spec_.send->topics.front(), payload.size(), support::now_ns());
    if (!at) [[unlikely]] {
        say_failed({support::ErrorCode::wrong_input,
                    fmt::format("a reply of {} bytes does not fit an MQTT packet", payload.size()),
                    {}});
        return false;
    }
    if (!payload.empty())
        std::memcpy(at, payload.data(), payload.size());
    return true;
}

void Echo::queue(Bytes payload) {
    const std::uint64_t length = payload.size();
    if (queued_.size() + sizeof length + length > kMostQueuedBytes) [[unlikely]]
        return say_failed(
            {support::ErrorCode::peer,
             fmt::format("the echo has more than {} MiB of requests that wait for the "
                         "reply window of {}",
                         kMostQueuedBytes >> 20, publisher_->window()),
             "offer less, or give the echo a larger window"});
    ++window_full_;
    std::memcpy(queued_.extend(sizeof length), &length, sizeof length);
    queued_.append(payload);
}

void Echo::send_queued() {
    if (queued_.is_empty())
        return;
    // At QoS 0 the transport frees the slots, not the server.
    if (!publisher_->has_slot())
        client_.stream().flush();
    while (!queued_.is_empty() && publisher_->has_slot()) {
        std::uint64_t length;
        std::memcpy(&length, queued_.data(), sizeof length);
        if (!reply(queued_.bytes().subspan(sizeof length, length)))
            return;
        queued_.consume(sizeof length + length);
        if (!publisher_->has_slot())
            client_.stream().flush();
    }
}

void Echo::on_drained() {
    send_queued();
    client_.stream().flush();
}

// --- measured path ends ---

Json Echo::send_report() const {
    JsonObject report = publisher_->report();
    report["slept"] = 0;
    report["window_full"] = window_full_;
    report["due_in_window"] = nullptr; // the client's offer, not ours
    report["never_sent"] = nullptr;
    report["lag"] = nullptr;
    return report;
}

} // namespace mqcore::peer
