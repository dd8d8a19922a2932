#include "peer/probe.hpp"

#include <charconv>
#include <string>

namespace mqcore::peer {
namespace {

using support::now_ns;

constexpr std::string_view kPrefix = "$SYS/broker/";
constexpr std::string_view kTickMarker = "uptime";

// A tick that arrives this much later than the instant asked for was taken after it: the way from the
// broker's counter to the probe is a write on loopback, and a scheduler's delay is far shorter. An
// earlier one counts only when a PINGRESP in between proves the order.
constexpr Nanoseconds kLongestWay = 100 * support::kMillisecond;

} // namespace

Probe::Probe(asio::io_context& io, measure::PeerSpec spec, EventOut out)
    : ClientParty(io, std::move(spec), std::move(out)),
      counters_{{"publish/messages/received", Own::nothing},
                {"publish/messages/sent", Own::publishes_sent},
                {"publish/messages/dropped", Own::nothing},
                {"publish/bytes/received", Own::nothing},
                {"publish/bytes/sent", Own::publish_bytes_sent},
                {"messages/received", Own::packets_received},
                {"messages/sent", Own::packets_sent},
                {"bytes/received", Own::bytes_received},
                {"bytes/sent", Own::bytes_sent}},
      fence_timer_(io), timeout_timer_(io) {
    measure::ReceiveSpec receive;
    receive.filters.push_back(std::string(kPrefix) + std::string(kTickMarker));
    for (const Counter& counter : counters_)
        receive.filters.push_back(std::string(kPrefix) + std::string(counter.name));
    spec_.receive = std::move(receive); // at QoS 0: nothing to acknowledge
}

void Probe::on_publish(const PublishView& publish, Nanoseconds now) {
    if (!publish.topic.starts_with(kPrefix))
        return;
    // A retained value was taken before this connection existed, and maybe long ago: it holds for a
    // counter that the next tick does not repeat.
    const bool is_live = !publish.is_retained;
    if (is_live && !arriving_) {
        arriving_ = Mark{client_.received().packets, now};
        end_ping_ = client_.ping();
    }
    const std::string_view name = publish.topic.substr(kPrefix.size());
    for (Counter& counter : counters_) {
        if (counter.name != name)
            continue;
        const std::string_view text = text_of(publish.payload);
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size())
            return; // not a count: the counter stays missing
        counter.raw = value;
        counter.own_share = is_live ? own_share(counter.own) : 0;
    }
}

// The broker writes each $SYS message to the probe's socket before it takes the next value, so what
// stands before this message in the stream is what the value includes.
std::uint64_t Probe::own_share(Own own) const {
    const Traffic& received = client_.received();
    switch (own) {
    case Own::nothing:
        return 0;
    case Own::packets_received:
        return client_.sent_to_connect().packets + pings_answered_;
    case Own::bytes_received:
        return client_.sent_to_connect().bytes + 2 * pings_answered_;
    case Own::packets_sent:
        return received.packets;
    case Own::bytes_sent:
        return received.bytes;
    case Own::publishes_sent:
        return received.publishes;
    case Own::publish_bytes_sent:
        return received.publish_payload_bytes;
    }
    return 0;
}

void Probe::on_pingresp(std::uint64_t ordinal, Nanoseconds) {
    pings_answered_ = ordinal;
    if (fence_ping_ && ordinal >= *fence_ping_) {
        fence_ping_.reset();
        if (reading_)
            reading_->fence = client_.received().packets;
    }
    if (end_ping_ && ordinal >= *end_ping_) {
        end_ping_.reset();
        complete_ = std::exchange(arriving_, std::nullopt);
        if (reading_ && is_fresh(*complete_))
            answer(true);
    }
}

bool Probe::is_fresh(const Mark& tick) const {
    return tick.at > reading_->newer_than + kLongestWay ||
           (reading_->fence && tick.packet > *reading_->fence);
}

void Probe::read(Nanoseconds newer_than, Nanoseconds timeout) {
    if (reading_)
        return say_failed(
            {support::ErrorCode::internal, "the probe is asked to read twice at once", {}});
    reading_ = Reading{newer_than, std::nullopt};
    if (complete_ && is_fresh(*complete_))
        return answer(true);
    const Nanoseconds now = now_ns();
    fence_timer_.expires_at(time_point_of(std::max(now, newer_than)));
    fence_timer_.async_wait([this](const asio::error_code& error) {
        if (!error && reading_)
            fence_ping_ = client_.ping();
    });
    timeout_timer_.expires_at(time_point_of(now + timeout));
    timeout_timer_.async_wait([this](const asio::error_code& error) {
        if (!error && reading_)
            answer(false);
    });
}

void Probe::answer(bool fresh) {
    reading_.reset();
    fence_ping_.reset();
    fence_timer_.cancel();
    timeout_timer_.cancel();
    JsonObject counters;
    JsonObject own_deliveries;
    support::JsonArray missing;
    for (const Counter& counter : counters_) {
        if (!counter.raw) {
            missing.emplace_back(counter.name);
            continue;
        }
        counters[counter.name] = *counter.raw - std::min(*counter.raw, counter.own_share);
        own_deliveries[counter.name] = counter.own_share;
    }
    JsonObject event{{"event", "reading"}, {"fresh", fresh}};
    event["at_ns"] = complete_ ? Json(complete_->at) : Json(nullptr);
    event["counters"] = std::move(counters);
    event["own_deliveries"] = std::move(own_deliveries);
    event["missing"] = std::move(missing);
    say(std::move(event));
}

} // namespace mqcore::peer
