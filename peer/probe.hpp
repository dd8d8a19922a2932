#pragma once
// Reads the broker's own counters from $SYS and takes out what the probe itself has caused, so that a
// run of ten messages reconciles exactly. docs/decisions/004-broker-probe.md tells how the broker publishes
// them and why the sums are exact.
//
// A *tick* is one burst of $SYS messages. Values that have not changed are not sent again, so a tick
// is known by the uptime, which always changes. A single-threaded broker answers a PINGREQ only after
// the whole burst: the PINGRESP marks its end, whatever the order inside it.

#include "peer/client_party.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace mqcore::peer {

class Probe final : public ClientParty {
  public:
    Probe(asio::io_context& io, measure::PeerSpec spec, EventOut out);

    void drive(const measure::Schedule& schedule) override { Party::drive(schedule); }
    void read(Nanoseconds newer_than, Nanoseconds timeout) override;

  private:
    // Which of the probe's own doings a counter includes.
    enum class Own {
        nothing,
        packets_received,
        bytes_received,
        packets_sent,
        bytes_sent,
        publishes_sent,
        publish_bytes_sent,
    };
    struct Counter {
        std::string_view name; // below $SYS/broker/
        Own own;
        std::optional<std::uint64_t> raw = std::nullopt; // as the broker said it
        std::uint64_t own_share = 0;                     // of raw
    };
    // A place in the stream, so that two packets of one read keep their order, and its instant.
    struct Mark {
        std::uint64_t packet;
        Nanoseconds at;
    };
    struct Reading {
        Nanoseconds newer_than;
        std::optional<std::uint64_t> fence; // packets up to here were sent before newer_than, maybe
    };

    void begin(const measure::Schedule&) override {}
    bool needs_all_subscriptions() const override { return false; }
    void on_publish(const PublishView& publish, Nanoseconds now) override;
    void on_pingresp(std::uint64_t ordinal, Nanoseconds now) override;
    std::uint64_t own_share(Own own) const;
    bool is_fresh(const Mark& tick) const;
    void answer(bool fresh);

    std::vector<Counter> counters_;
    std::uint64_t pings_answered_ = 0;
    std::optional<Mark> arriving_;            // begin of the tick that is arriving
    std::optional<Mark> complete_;            // begin of the last whole one
    std::optional<std::uint64_t> end_ping_;   // its answer ends the arriving tick
    std::optional<std::uint64_t> fence_ping_; // its answer is the reading's fence
    std::optional<Reading> reading_;
    asio::steady_timer fence_timer_;
    asio::steady_timer timeout_timer_;
};

} // namespace mqcore::peer
