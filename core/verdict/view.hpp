#pragma once
// Reading access to one run document (docs/architecture.md, "Run document"). A value that the document
// lacks, or that is null, is "unknown" here and never 0. The view looks into the document and must not
// outlive it; it checks nothing and judges nothing.

#include "measure/histogram.hpp"
#include "scenario/point.hpp"
#include "support/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::verdict {

using Count = std::optional<std::uint64_t>;
using Number = std::optional<double>;

// A place in the document that may be absent, like everything below it.
class Node {
  public:
    Node() = default;
    explicit Node(const support::Json* json) : json_(json && !json->is_null() ? json : nullptr) {}

    explicit operator bool() const { return json_ != nullptr; }
    Node operator[](std::string_view key) const {
        return Node(json_ ? support::find(*json_, key) : nullptr);
    }
    Count count(std::string_view key) const; // nothing for a negative or a broken number, too
    Number number(std::string_view key) const;
    std::string text(std::string_view key) const; // empty when absent
    std::optional<bool> boolean(std::string_view key) const;
    std::vector<std::string> texts(std::string_view key) const;
    std::vector<std::uint64_t> counts(std::string_view key) const;
    std::optional<measure::Histogram> histogram(std::string_view key) const;
    const support::Json* json() const { return json_; }

  private:
    const support::Json* json_ = nullptr;
};

// What a point asks for beyond messages.
enum class Feature { filters, properties, topic_alias };

enum class Load { capacity, fixed, idle };
std::string_view name_of(Load load);

// What a party says it sent.
struct SendView {
    Count sent, sent_window, completed, completed_window, failed, unfinished;
    Count due_in_window, never_sent, slept, window_full;
    Node raw;
};

// What a party says it received; the ledger's fields are unknown when no payload carries a sequence.
struct ReceiveView {
    Count total, window, drain, stray, damaged, first_damaged_bytes, impossible_latency;
    Count distinct, duplicates, reordered, beyond, frontier, lost_below_frontier;
    std::vector<std::uint64_t> first_lost, first_duplicates;
    Count dup_flagged, retained;
    // Of the peer alone: before the drive began, QoS 2 publishes that came again before PUBREL, and
    // messages with the properties that were sent.
    Count before_drive, qos2_repeated, with_properties;
    Count with_empty_topic; // in direct mode: sent with an alias instead
    // Of the client alone: to no callback of a filter, and to that of another filter.
    Count catch_all, misdirected;
    Count receive_maximum_exceeded; // unacknowledged QoS 1 and 2 messages above its Receive Maximum
    Node raw;

    // Every PUBLISH that came in, strays and repetitions included: what the broker must have sent.
    Count deliveries() const;
    // Messages that arrived at least once: by sequence number where the payload carries one.
    Count arrived() const { return distinct ? distinct : total; }
};

struct PartyView {
    bool has_report = false;
    std::optional<SendView> send;
    std::optional<ReceiveView> receive;
    std::uint64_t unexpected = 0; // arrivals at a party that was not to receive anything
    Node raw;
};

struct ResourceView {
    Count span_ns; // between the two readings; close to the window
    Count cpu_total_ns, cpu_user_ns, cpu_sys_ns, rss_peak_kib, threads, voluntary_switches,
        involuntary_switches;
    // Of the client alone.
    Count user_instructions, kernel_instructions, user_cycles, kernel_cycles;
    Node tcp, system_calls;
    Node raw;

    Count cpu_ns() const;                        // user and kernel, all threads
    Number cores(std::uint64_t window_ns) const; // share of one core, between the readings
    Count segments() const;                      // of TCP, both ways
    Count wire_bytes() const;                    // payload of TCP, both ways
    std::string why_unavailable(std::string_view name) const; // never empty
};

// A counter's change over the run and whether this broker can witness with it.
struct CounterView {
    Count delta;
    std::string why_unavailable; // when there is no delta, or it does not count this QoS
};

class RunView {
  public:
    explicit RunView(const support::Json& run);

    std::string client, point;
    scenario::Kind kind = scenario::Kind::pub;
    Load load = Load::idle;
    std::uint32_t qos = 0;
    std::vector<std::uint32_t> payload_bytes;
    std::uint64_t topic_bytes = 0;
    std::uint64_t filters = 1;
    std::uint32_t features = 0; // 1 << Feature
    bool is_direct = false;     // the peer was the server
    Number rate;                // of the fixed offer
    std::string protocol;
    measure::Pacing pacing = measure::Pacing::tick;
    std::uint64_t window_ns = 0;
    std::uint64_t sending_ns = 0; // warm-up and window

    bool is_comparable = false;
    std::vector<std::string> not_comparable_because;

    Node failure;
    PartyView worker; // the client's side
    PartyView peer;
    Count connect_ns;
    std::string qos0_completion; // "handed over", "written", "drained"; empty: not said
    std::vector<std::string> misuse;

    bool broker_is_fresh = false;
    // name: as in the document's broker.delta, e.g. "publish_received".
    CounterView counter(std::string_view name) const;
    // False when the session learnt that this broker publishes no counters that can be trusted.
    bool has_witness() const;

    ResourceView client_use, peer_use, broker_use;
    Node host;
    Node raw;

    bool has_messages() const { return kind != scenario::Kind::idle; }
    double window_seconds() const { return static_cast<double>(window_ns) * 1e-9; }
    bool is_sent_by_client() const { return scenario::publishes(kind); }
    // The receiver whose latencies are the point's result: the peer's sink on pub and duplex, else the
    // client. A duplex point has those of the client beside them.
    const std::optional<ReceiveView>& result_receiver() const {
        const bool is_peer = kind == scenario::Kind::pub || kind == scenario::Kind::duplex;
        return is_peer ? peer.receive : worker.receive;
    }
    // Messages of the window that the receiving party confirms, on duplex points of both directions;
    // the rate and costs per message use it.
    Count confirmed_in_window() const;
    // Most messages that may be unfinished on the client's connection at once, whoever sets the limit
    // (MQTT 5 sections 3.1.2.11.3 and 3.2.2.3.3); nothing: not known, or QoS 0.
    Count effective_window() const;
};

} // namespace mqcore::verdict
