#include "peer/direct.hpp"

#include <fmt/format.h>

namespace mqcore::peer {

using measure::PeerRole;

Direct::Direct(asio::io_context& io, measure::PeerSpec spec, EventOut out)
    : Server(io, std::move(spec), std::move(out)), end_timer_(io) {
    const auto failed = [this](const support::Error& error) { say_failed(error); };
    if (spec_.receive)
        receipts_.emplace(*spec_.receive);
    if (spec_.role == PeerRole::echo)
        replier_.emplace(*spec_.send, failed);
    else if (spec_.send)
        sender_.emplace(io, *spec_.send, failed);
}

ServedClient* Direct::client() const {
    for (const auto& client : clients_)
        if (client->is_connected())
            return client.get();
    return nullptr;
}

std::string Direct::reason_not_to_drive() const {
    if (is_driven_)
        return "'drive' a second time";
    const ServedClient* it = client();
    if (!it)
        return "no client is connected";
    if (!spec_.send)
        return {};
    for (const std::string& topic : spec_.send->topics)
        if (const auto granted = it->granted_for(topic); !granted || *granted < spec_.send->qos)
            return fmt::format("the client has no subscription of QoS {} for '{}'", spec_.send->qos,
                               topic);
    return {};
}

void Direct::drive(const measure::Schedule& schedule) {
    if (const std::string reason = reason_not_to_drive(); !reason.empty())
        return say_failed({support::ErrorCode::peer, reason, {}});
    is_driven_ = true;
    ServedClient& it = *client();
    if (receipts_)
        receipts_->begin(schedule);
    if (sender_)
        sender_->begin(it.stream(), it.protocol(), it.receive_maximum(), schedule);
    if (replier_)
        replier_->begin(it.stream(), it.protocol(), it.receive_maximum(), schedule);
    end_timer_.expires_at(time_point_of(schedule.end()));
    end_timer_.async_wait([this](const asio::error_code& error) {
        if (!error)
            end_drive();
    });
}

void Direct::end_drive() {
    Seen seen;
    std::uint64_t with_empty_topic = 0;
    for (const auto& client : clients_) {
        const Seen one = client->seen();
        seen.dup_flagged += one.dup_flagged;
        seen.qos2_repeated += one.qos2_repeated;
        seen.receive_maximum_exceeded += one.receive_maximum_exceeded;
        with_empty_topic += client->with_empty_topic();
    }
    Json receive = receipts_ ? receipts_->report(seen) : Json(nullptr);
    if (receipts_)
        receive.get_object()["with_empty_topic"] = with_empty_topic;
    const ServedClient* it = client();
    say({{"event", "driven"},
         {"tls", it ? it->tls_facts() : Json(nullptr)},
         {"report", JsonObject{{"send", sender_    ? sender_->report()
                                        : replier_ ? replier_->report()
                                                   : Json(nullptr)},
                               {"receive", std::move(receive)}}}});
}

// --- measured path begins ---

void Direct::route(ServedClient&, const PublishView& publish, Nanoseconds now) {
    if (!receipts_)
        return;
    const auto verdict = receipts_->record(publish, now);
    if (replier_ && verdict != measure::ArrivalRecorder::Verdict::stray)
        replier_->answer(publish.payload);
}

bool Direct::take_ack(PacketType type, const AckView& ack, Nanoseconds now) {
    if (sender_)
        sender_->on_ack(type, ack, now);
    if (replier_)
        replier_->on_ack(type, ack, now);
    return sender_ || replier_;
}

void Direct::written(Nanoseconds now) {
    if (sender_)
        sender_->on_written(now);
    if (replier_)
        replier_->on_written(now);
}

void Direct::turn_ended() {
    if (sender_ && is_driven_)
        sender_->resume();
    if (replier_ && is_driven_)
        replier_->send_queued();
}

void Direct::drained() {
    turn_ended();
    if (ServedClient* it = client())
        it->flush();
}

// --- measured path ends ---

} // namespace mqcore::peer
