#include "peer/sender.hpp"

#include <asio/post.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::peer {
namespace {

using support::now_ns;

// After so many messages in a row acknowledgements, timers and the control channel get a turn.
constexpr int kMessagesPerTurn = 2048;
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

} // namespace

Sender::Sender(asio::io_context& io, const measure::SendSpec& spec, Failed failed)
    : io_(io), spec_(spec), failed_(std::move(failed)), limit_(spec.limit.value_or(kNoLimit)),
      timer_(io) {
    for (const std::uint32_t bytes : spec_.payload_bytes) {
        payloads_.emplace_back(bytes);
        measure::prepare_payload(payloads_.back().data(), bytes, spec_.tag);
    }
}

void Sender::begin(PacketStream& stream, Protocol protocol, std::uint16_t receive_maximum,
                   const measure::Schedule& schedule) {
    stream_ = &stream;
    schedule_ = schedule;
    publisher_.emplace(stream, protocol, static_cast<std::uint8_t>(spec_.qos), spec_.window,
                       receive_maximum, schedule, property_block(spec_.properties));
    offer_.emplace(schedule, spec_.rate, spec_.pacing);
    sleep_until(schedule.start_ns);
}

// --- measured path begins ---

void Sender::pump() {
    for (int burst = 0; burst < kMessagesPerTurn; ++burst) {
        const Nanoseconds now = now_ns();
        if (now >= schedule_.window_end() || publisher_->sent() >= limit_) [[unlikely]] {
            state_ = State::stopped;
            return stream_->flush();
        }
        if (const Nanoseconds until = offer_->wait_until(now)) {
            stream_->flush();
            ++slept_;
            return sleep_until(std::min(until, schedule_.window_end()));
        }
        if (!can_send()) {
            stream_->flush();
            if (!can_send())
                return wait_for_slot();
            continue; // the flush took its time: the stamp comes after it
        }
        if (!send_one(now)) [[unlikely]]
            return;
    }
    stream_->flush();
    state_ = State::yielding;
    asio::post(io_, [this] {
        if (state_ == State::yielding)
            pump();
    });
}

bool Sender::send_one(Nanoseconds now) {
    const std::vector<std::uint8_t>& prepared = payloads_[payload_turn_];
    std::uint8_t* payload = publisher_->publish(spec_.topics[topic_turn_], prepared.size(), now);
    if (!payload) [[unlikely]] {
        failed_({support::ErrorCode::wrong_input,
                 fmt::format("a payload of {} bytes does not fit an MQTT packet", prepared.size()),
                 {}});
        return false;
    }
    if (++topic_turn_ == spec_.topics.size())
        topic_turn_ = 0;
    if (++payload_turn_ == payloads_.size())
        payload_turn_ = 0;
    const std::uint64_t sequence = offer_->take();
    if (!prepared.empty())
        std::memcpy(payload, prepared.data(), prepared.size());
    measure::stamp_payload(payload, prepared.size(), now, sequence);
    if (offer_->is_paced())
        if (const Nanoseconds due = offer_->due_ns(sequence); schedule_.in_window(due))
            lag_.record(now - due);
    return true;
}

void Sender::sleep_until(Nanoseconds at) {
    state_ = State::sleeping;
    timer_.expires_at(time_point_of(at));
    timer_.async_wait([this](const asio::error_code& error) {
        if (!error && state_ == State::sleeping)
            pump();
    });
}

// An acknowledgement or a drained transport resumes it; the end of the drive ends it otherwise.
void Sender::wait_for_slot() {
    state_ = State::waiting_for_slot;
    ++window_full_;
}

void Sender::resume() {
    if (state_ == State::waiting_for_slot && can_send())
        pump();
}

// --- measured path ends ---

support::Json Sender::report() const {
    if (!publisher_)
        return nullptr;
    support::JsonObject report = publisher_->report();
    report["slept"] = slept_;
    report["window_full"] = window_full_;
    const bool is_paced = offer_->is_paced();
    // A limit ends the offer: what it excludes is not due.
    std::uint64_t due = offer_->due_between(schedule_.window_start(), schedule_.window_end());
    if (is_paced && limit_ != kNoLimit) {
        const std::uint64_t before =
            offer_->due_between(schedule_.start_ns, schedule_.window_start());
        due = std::min(due, limit_ - std::min(limit_, before));
    }
    report["due_in_window"] = is_paced ? support::Json(due) : support::Json(nullptr);
    report["never_sent"] = is_paced
                               ? support::Json(due - std::min(due, lag_.count() + lag_.too_large()))
                               : support::Json(nullptr);
    report["lag"] = is_paced ? lag_.to_json() : support::Json(nullptr);
    return report;
}

} // namespace mqcore::peer
