#pragma once
// One run of the driver with messages: what the worker, its neighbour at the server and the server
// itself counted. Checks judge these three accounts; none of them is believed alone.

#include "conformance/checks.hpp"
#include "conformance/server.hpp"

namespace mqcore::conformance {

// What an exchange is made of.
struct Traffic {
    measure::Protocol protocol = measure::Protocol::v311;
    std::uint32_t qos = 0;
    std::uint64_t messages = 100;
    std::uint32_t window = 64;
    std::vector<std::uint32_t> payload_bytes{64};
    std::vector<std::string> topics{"mqcore/check/a"};  // of what is published, in turn
    std::vector<std::string> filters{"mqcore/check/#"}; // of who receives
    std::uint32_t connections = 1;
    measure::PublishProperties properties = {}; // of what is published, MQTT 5
    std::uint16_t topic_alias = 0;              // of what the driver publishes, MQTT 5
    measure::ServerBehaviour behaviour = {};
    std::optional<double> rate = std::nullopt; // of what the driver publishes; nothing: capacity
    // Short, since most drivers of a shelf wait for their end; a judgement that fails has ten times as long.
    Nanoseconds window_ns = 60 * support::kMillisecond;
    Nanoseconds drain_ns = 100 * support::kMillisecond;
    Nanoseconds linger_ns = 0; // with finish: after disconnect()
    enum class Ending { after_drive, finish } ending = Ending::after_drive;
};

struct Exchange {
    Step step;      // the last one of the worker: "driven", "finished", or trouble
    Json report;    // the worker's {"send","receive","misuse","returned_ns"}
    Json neighbour; // the sink's or the source's {"send","receive"}
    Json
        conduct; // of the worker: {"asked_in_vain","completed_elsewhere","first_stamps_ns","rss_kib"}
    Json served; // the server's account of the worker's first connection
    Json all_served;
    measure::Schedule schedule;

    std::uint64_t sent() const;      // by the worker or by the source
    std::uint64_t completed() const; // by the worker
    std::uint64_t failed() const;
    std::uint64_t unfinished() const;
    Json arrivals() const; // at the sink or at the worker: measure/arrivals.hpp
};

// The driver publishes to a sink. A null client publishes to nobody: no neighbour, no server.
Exchange publish(Bench& bench, const Traffic& traffic);
// A source publishes to the driver.
Exchange receive(Bench& bench, const Traffic& traffic);

// The claimed combinations of protocol and QoS.
struct Combination {
    measure::Protocol protocol;
    std::uint32_t qos;
};
std::vector<Combination> publish_combinations(const driver::Claims& claims);
std::vector<Combination> subscribe_combinations(const driver::Claims& claims);
std::uint32_t highest_qos(std::uint32_t qos_bits);

// Judges each combination; the first breach is the verdict, with the combination before its text.
// Without one: skipped, with `lacks` as the reason. A judgement that fails is repeated with ten times
// as much time, and the second one counts: a slow machine is no breach.
using Judge = std::function<Verdict(Bench& bench, const Traffic& traffic)>;
Verdict judge_each(Bench& bench, const std::vector<Combination>& combinations, Traffic traffic,
                   const Judge& judge, std::string_view lacks);

// Judges that publish(), or receive(), and look at an exchange that went through; trouble is the verdict by itself.
using ExchangeJudge = std::function<Verdict(const Exchange& exchange, const Traffic& traffic)>;
Judge published(ExchangeJudge judge);
Judge received(ExchangeJudge judge);

// The verdict of a step that ended in trouble.
Verdict verdict_of(const Trouble& trouble);

} // namespace mqcore::conformance
