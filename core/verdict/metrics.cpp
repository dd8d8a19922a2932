#include "measure/payload.hpp"
#include "support/text.hpp"
#include "verdict/accounts.hpp"
#include "verdict/scopes.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using namespace scopes;

MetricValue known(double value) { return {value, {}}; }
MetricValue unknown(std::string why) { return {std::nullopt, std::move(why)}; }

MetricValue scaled(Count value, double factor, const std::string& why) {
    return value ? known(static_cast<double>(*value) * factor) : unknown(why);
}

// Something of the client's over the messages that the other party confirmed in the window.
MetricValue per_message(const RunView& run, Count amount, std::string_view name, double factor) {
    if (!amount)
        return unknown(run.client_use.why_unavailable(name));
    const Count messages = run.confirmed_in_window();
    if (!messages)
        return unknown("the receiver did not report");
    if (*messages == 0)
        return unknown("no message was confirmed in the window");
    return known(static_cast<double>(*amount) * factor / static_cast<double>(*messages));
}

MetricValue share_of_core(const RunView& run, const ResourceView& party) {
    const Number cores = party.cores(run.window_ns);
    return cores ? known(100 * *cores) : unknown(party.why_unavailable("cpu_ns"));
}

MetricValue compute_rate(const RunView& run) {
    const Count confirmed = run.confirmed_in_window();
    if (!confirmed || !run.window_ns)
        return unknown("the receiver did not report");
    return known(static_cast<double>(*confirmed) / run.window_seconds());
}

MetricValue compute_cpu(const RunView& run) {
    return per_message(run, run.client_use.cpu_ns(), "cpu_ns", 1e-3);
}
MetricValue compute_user(const RunView& run) {
    return per_message(run, run.client_use.cpu_user_ns, "cpu_user_ns", 1e-3);
}
MetricValue compute_sys(const RunView& run) {
    return per_message(run, run.client_use.cpu_sys_ns, "cpu_sys_ns", 1e-3);
}
MetricValue compute_cpu_share(const RunView& run) { return share_of_core(run, run.client_use); }
MetricValue compute_broker_share(const RunView& run) { return share_of_core(run, run.broker_use); }
MetricValue compute_rss(const RunView& run) {
    return scaled(run.client_use.rss_peak_kib, 1, run.client_use.why_unavailable("rss_peak_kib"));
}
MetricValue compute_threads(const RunView& run) {
    return scaled(run.client_use.threads, 1, run.client_use.why_unavailable("threads"));
}
MetricValue compute_switches(const RunView& run) {
    const ResourceView& use = run.client_use;
    if (!use.voluntary_switches || !use.involuntary_switches)
        return unknown(use.why_unavailable(use.voluntary_switches ? "involuntary_switches"
                                                                  : "voluntary_switches"));
    return per_message(run, *use.voluntary_switches + *use.involuntary_switches,
                       "voluntary_switches", 1000);
}
MetricValue compute_instructions(const RunView& run) {
    return per_message(run, run.client_use.user_instructions, "user_instructions", 1);
}
MetricValue compute_kernel_instructions(const RunView& run) {
    return per_message(run, run.client_use.kernel_instructions, "kernel_instructions", 1);
}
MetricValue compute_cycles(const RunView& run) {
    const ResourceView& use = run.client_use;
    if (!use.user_cycles || !use.kernel_cycles)
        return unknown(use.why_unavailable(use.user_cycles ? "kernel_cycles" : "user_cycles"));
    return per_message(run, *use.user_cycles + *use.kernel_cycles, "user_cycles", 1);
}
MetricValue compute_segments(const RunView& run) {
    return per_message(run, run.client_use.segments(), "tcp", 1);
}
MetricValue compute_wire_bytes(const RunView& run) {
    return per_message(run, run.client_use.wire_bytes(), "tcp", 1);
}
// The calls that a byte costs in the warm-up, times the bytes of a message in the window.
MetricValue compute_system_calls(const RunView& run) {
    const ResourceView& use = run.client_use;
    const Count calls = use.system_calls.count("calls"), bytes = use.system_calls.count("bytes");
    if (!calls || !bytes)
        return unknown(use.why_unavailable("system_calls"));
    if (*bytes == 0)
        return unknown("nothing moved while system calls were counted");
    return per_message(run, use.wire_bytes(), "tcp",
                       static_cast<double>(*calls) / static_cast<double>(*bytes));
}
MetricValue compute_connect(const RunView& run) {
    return scaled(run.connect_ns, 1e-3, "the client did not get as far as a connection");
}

MetricValue compute_never_sent(const RunView& run) {
    return scaled(run.worker.send ? run.worker.send->never_sent : std::nullopt, 1,
                  "the client did not report what it sent");
}

MetricValue compute_in_flight(const RunView& run) {
    const Witnessed sent = deliveries_by_broker(run);
    if (!sent.is_direct)
        return unknown(sent.why_not);
    const Count taken = run.worker.receive ? run.worker.receive->deliveries() : std::nullopt;
    const Count by_peer = run.peer.receive ? run.peer.receive->deliveries() : Count(0);
    if (!taken || !by_peer)
        return unknown("a receiver did not report");
    const std::uint64_t counted = *taken + *by_peer;
    return known(static_cast<double>(*sent.value - std::min(*sent.value, counted)));
}

MetricValue compute_effective_window(const RunView& run) {
    return scaled(run.effective_window(), 1,
                  run.qos == 0 ? "QoS 0 has no acknowledgements"
                               : "neither side of the connection named a limit");
}

// Where the run holds each histogram.
struct Place {
    std::string_view name;
    enum { result, sender, client_receiver } holder;
    std::string_view key;
};
constexpr Place kPlaces[] = {{"transit", Place::result, "transit"},
                             {"since_due", Place::result, "since_due"},
                             {"lag", Place::sender, "lag"},
                             {"receive_transit", Place::client_receiver, "transit"},
                             {"receive_since_due", Place::client_receiver, "since_due"}};

Node holder_of(const RunView& run, const Place& place) {
    if (place.holder == Place::sender)
        return run.worker.send ? run.worker.send->raw : Node();
    const std::optional<ReceiveView>& receiver =
        place.holder == Place::result ? run.result_receiver() : run.worker.receive;
    return receiver ? receiver->raw : Node();
}

MetricValue quantile_of(const RunView& run, const Place& place, double quantile) {
    const bool is_lag = place.holder == Place::sender;
    if (!holder_of(run, place))
        return unknown(is_lag ? "the client did not report what it sent"
                              : "the receiver did not report");
    if (const auto histogram = histogram_of(run, place.name)) {
        const auto at = quantile >= 1 ? histogram->max() : histogram->quantile(quantile);
        return known(static_cast<double>(*at) * 1e-3);
    }
    for (const std::uint32_t bytes : run.payload_bytes)
        if (!is_lag && !measure::carries_stamp(bytes))
            return unknown(fmt::format("a payload of {} carries no stamp of {} bytes",
                                       support::format_bytes(bytes), measure::kStampBytes));
    for (const std::uint32_t bytes : run.payload_bytes)
        if (place.key == "since_due" && !measure::carries_sequence(bytes))
            return unknown(
                fmt::format("a payload of {} carries no sequence number, so its due time "
                            "is not known",
                            support::format_bytes(bytes)));
    return unknown("no message of the window was seen");
}

struct Quantile {
    std::string_view id;    // end of the metric's id
    std::string_view title; // of the column
    std::string_view words;
    double quantile;
};

constexpr Quantile kQuantiles[] = {
    {"p50", "p50", "Half of the messages were no later than this", 0.5},
    {"p90", "p90", "Nine of ten messages were no later than this", 0.9},
    {"p99", "p99", "99 of 100 messages were no later than this", 0.99},
    {"p999", "p99.9", "999 of 1,000 messages were no later than this", 0.999},
    {"max", "max", "The latest message of all", 1},
};

struct Delay {
    std::string id;
    std::string title;
    std::string words; // after the quantile's
    std::string computed;
    Scope scope;
};

// A function pointer that knows its histogram and quantile.
template <std::size_t delay, std::size_t quantile>
MetricValue compute_quantile(const RunView& run) {
    return quantile_of(run, kPlaces[delay], kQuantiles[quantile].quantile);
}

template <std::size_t delay, std::size_t... quantiles>
void add_quantiles(std::vector<MetricEntry>& entries, const Delay& of,
                   std::index_sequence<quantiles...>) {
    (entries.push_back({.id = fmt::format("{}_{}_us", of.id, kQuantiles[quantiles].id),
                        .title = fmt::format("{} {}", of.title, kQuantiles[quantiles].title),
                        .says = fmt::format("{}: {}", kQuantiles[quantiles].words, of.words),
                        .computed = of.computed,
                        .scope = of.scope,
                        .unit = Unit::microseconds,
                        .direction = Direction::lower,
                        .compute = compute_quantile<delay, quantiles>,
                        .histogram = of.id,
                        .quantile = kQuantiles[quantiles].quantile}),
     ...);
}

std::vector<MetricEntry> make_metrics() {
    constexpr auto kAll = std::make_index_sequence<std::size(kQuantiles)>();
    const Scope messages{kMessages, kLoaded, kAnyQos};
    const Scope everywhere{kAnyKind, kAnyLoad, kAnyQos};
    std::vector<MetricEntry> entries = {
        {"rate",
         "msgs/s",
         "Messages delivered per second, as the party at the other end confirms them.",
         "Arrivals in the window divided by its length: at the peer's sink on publish points, at "
         "the client on receive and round trip points, at both on duplex points. What a client "
         "calls completed is never the rate.",
         messages,
         Unit::per_second,
         Direction::higher,
         compute_rate,
         {},
         0},
        {"cpu_us_per_message",
         "CPU µs/msg",
         "Processor time of the client for one message.",
         "User and kernel time of all threads of the client's process in the window, divided by "
         "the "
         "messages of the rate. mqcore's own share is in it; `mqcore harness-cost` measures it.",
         messages,
         Unit::microseconds,
         Direction::lower,
         compute_cpu,
         {},
         0},
        {"user_us_per_message",
         "user µs/msg",
         "Of it, time in the client's own code.",
         "As cpu_us_per_message, user mode alone.",
         messages,
         Unit::microseconds,
         Direction::lower,
         compute_user,
         {},
         0},
        {"sys_us_per_message",
         "sys µs/msg",
         "Of it, time in the kernel.",
         "As cpu_us_per_message, kernel mode alone.",
         messages,
         Unit::microseconds,
         Direction::lower,
         compute_sys,
         {},
         0},
        {"cpu_percent",
         "CPU",
         "How much of one core the client used.",
         "User and kernel time of the client's process divided by the window; above 100 % when "
         "several threads run.",
         everywhere,
         Unit::percent,
         Direction::lower,
         compute_cpu_share,
         {},
         0},
        {"broker_cpu_percent",
         "broker CPU",
         "How much of one core the broker used.",
         "User and kernel time of the broker's process divided by the window.",
         {kAnyKind, kAnyLoad, kAnyQos, 0, true},
         Unit::percent,
         Direction::none,
         compute_broker_share,
         {},
         0},
        {"rss_peak_kib",
         "peak RSS",
         "Most memory that the client's process held at once.",
         "Largest resident set in the window, the process that hosts the driver included.",
         everywhere,
         Unit::kibibytes,
         Direction::lower,
         compute_rss,
         {},
         0},
        {"threads",
         "threads",
         "Threads of the client's process.",
         "Counted at the window's end.",
         everywhere,
         Unit::count,
         Direction::lower,
         compute_threads,
         {},
         0},
        {"switches_per_1000",
         "switches/1k",
         "How often the client's threads went to sleep or were "
         "put aside, for 1,000 messages.",
         "Voluntary and involuntary context switches in the window, times 1,000, divided by the "
         "messages of the rate.",
         messages,
         Unit::count,
         Direction::lower,
         compute_switches,
         {},
         0},
        {"instructions_per_message",
         "instr/msg",
         "Instructions of the client's own code for one message. They vary far less than time "
         "does.",
         "Instructions in user mode, all threads of the client's process in the window, counted by "
         "the processor, divided by the messages of the rate.",
         messages,
         Unit::count,
         Direction::lower,
         compute_instructions,
         {},
         0},
        {"kernel_instructions_per_message",
         "kernel instr/msg",
         "Instructions that the kernel ran for the client for one message.",
         "As instructions_per_message, kernel mode alone.",
         messages,
         Unit::count,
         Direction::lower,
         compute_kernel_instructions,
         {},
         0},
        {"cycles_per_message",
         "cycles/msg",
         "Clock cycles of the processor for one message, whatever its frequency.",
         "As instructions_per_message, but cycles, of user and kernel mode together.",
         messages,
         Unit::count,
         Direction::lower,
         compute_cycles,
         {},
         0},
        {"system_calls_per_message",
         "syscalls/msg",
         "How often the client entered the kernel for one message.",
         "System calls of all threads of the client's process in 200 ms of the warm-up, because "
         "counting them makes each one dearer, divided by the bytes that its connections moved "
         "meanwhile and multiplied by wire_bytes_per_message.",
         messages,
         Unit::count,
         Direction::lower,
         compute_system_calls,
         {},
         0},
        {"segments_per_message",
         "segments/msg",
         "TCP segments of the client's connections for one message: how well it fills them.",
         "Segments out and in, acknowledgements included, in the window by the kernel's count, "
         "divided by the messages of the rate. A segment on loopback holds up to 64 KiB.",
         messages,
         Unit::count,
         Direction::lower,
         compute_segments,
         {},
         0},
        {"wire_bytes_per_message",
         "bytes/msg",
         "Bytes that the client's connections moved for one message, answers included.",
         "Bytes that TCP carried out and in, in the window by the kernel's count, divided by the "
         "messages of the rate. With TLS they are the encrypted ones.",
         messages,
         Unit::count,
         Direction::lower,
         compute_wire_bytes,
         {},
         0},
        {"connect_us",
         "connect",
         "Time to connect.",
         "From the call to connect until the broker has confirmed the connection and the "
         "subscriptions of the point.",
         everywhere,
         Unit::microseconds,
         Direction::lower,
         compute_connect,
         {},
         0},
        {"in_flight_at_stop",
         "in flight",
         "Messages on their way to the client when the run ended.",
         "Deliveries by the broker's count less those that the receivers counted: they wait in "
         "sockets, or the library dropped them.",
         {kClientReceives, kLoaded, kAnyQos},
         Unit::count,
         Direction::lower,
         compute_in_flight,
         {},
         0},
        {"never_sent",
         "never sent",
         "Messages that were due and never left.",
         "Due in the window and not sent when sending ended.",
         {kClientSends, kFixed, kAnyQos},
         Unit::count,
         Direction::lower,
         compute_never_sent,
         {},
         0},
        {"effective_window",
         "window",
         "Most QoS 1 and 2 messages that could be unfinished at once.",
         "Where the client sends: the smaller of the point's window and, over MQTT 5, the broker's "
         "Receive Maximum. Where it only receives: its own Receive Maximum.",
         {kMessages, kLoaded, kQos12},
         Unit::count,
         Direction::none,
         compute_effective_window,
         {},
         0},
    };
    add_quantiles<0>(
        entries,
        {"transit", "transit", "time from the publish to the arrival (round trip: of the answer).",
         "Arrival less the stamp that the sender put into the payload when it sent the message, "
         "over "
         "the messages sent in the window. A sender that is late does not show here; see lag and "
         "since due.",
         messages},
        kAll);
    add_quantiles<1>(
        entries,
        {"since_due",
         "since due",
         "time from when the message was due to the arrival.",
         "Arrival less the due time that follows from the sequence number, over the messages due "
         "in "
         "the window: transit and the sender's lag together, so that nothing hides by not sending.",
         {kMessages, kFixed, kAnyQos}},
        kAll);
    add_quantiles<2>(
        entries,
        {"lag",
         "lag",
         "how late the client sent, against the fixed schedule.",
         "Send time less due time, over the messages due in the window. Message n is due at start "
         "+ "
         "(n + 1) / rate. With pacing 'tick' up to 1 ms of it is mqcore's own tick, the same for "
         "every client. Lags of different regimes do not compare.",
         {kClientSends, kFixed, kAnyQos}},
        kAll);
    add_quantiles<3>(entries,
                     {"receive_transit",
                      "receive",
                      "time from the peer's publish to the client's arrival.",
                      "As transit, of the messages that the client received while it published.",
                      {kDuplex, kLoaded, kAnyQos}},
                     kAll);
    add_quantiles<4>(entries,
                     {"receive_since_due",
                      "receive due",
                      "time from when the peer's message was due to the client's arrival.",
                      "As since due, of the messages that the client received while it published.",
                      {kDuplex, kFixed, kAnyQos}},
                     kAll);
    return entries;
}

} // namespace

std::optional<measure::Histogram> histogram_of(const RunView& run, std::string_view name) {
    const auto* place = std::ranges::find(kPlaces, name, &Place::name);
    return place == std::end(kPlaces) ? std::nullopt : holder_of(run, *place).histogram(place->key);
}

const std::vector<MetricEntry>& metrics() {
    static const std::vector<MetricEntry> kEntries = make_metrics();
    return kEntries;
}

} // namespace mqcore::verdict
