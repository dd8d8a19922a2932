#pragma once
// The books of one run, which checks and flags share: what the broker had from whom and sent to whom,
// and what became of the messages on each leg. Works on what the parties said; decides nothing.

#include "verdict/limits.hpp"
#include "verdict/view.hpp"

#include <string>
#include <vector>

namespace mqcore::verdict {

// What the broker bears witness to: by the counter made for it, or, where this broker lacks that one,
// from its count of all packets. MQTT 3.1.1 section 4.3: a QoS 2 message is PUBLISH and PUBREL from
// its sender, PUBREC and PUBCOMP from its receiver; QoS 1 is PUBLISH and PUBACK.
struct Witnessed {
    Count value;
    bool is_direct = false; // by the counter made for it
    std::string why_not;    // why there is no direct one
};

Witnessed publishes_at_broker(const RunView& run);        // of client and peer together
Witnessed client_publishes_at_broker(const RunView& run); // the peer's own taken out
Witnessed deliveries_by_broker(const RunView& run);       // to client and peer together

// One direction of a run: a sender, the broker, a receiver. pub and sub have one; duplex has two, and
// rtt has two of which the second has the sequence numbers of the first.
struct Leg {
    bool is_to_client = false;
    const SendView* sender = nullptr;
    const ReceiveView* receiver = nullptr;
    std::uint64_t sent = 0;
    std::uint64_t excused = 0; // failed or unfinished at the sender: may be missing
    // Sequence numbers that never came although a higher one did, and those after the last that came.
    // Without a ledger everything that is missing counts as tail.
    std::uint64_t holes = 0;
    std::uint64_t tail = 0;
    bool has_ledger = false;

    std::uint64_t missing() const { return holes + tail > excused ? holes + tail - excused : 0; }
};

// Legs of which both ends have reported.
std::vector<Leg> legs_of(const RunView& run);

Count dropped_by_broker(const RunView& run);

// QoS 0 completions of a library that only took the message over: they confirm nothing.
bool has_hollow_completions(const RunView& run);
// At capacity a receiving client may have messages in its socket when the run stops, and a publishing
// one in a queue of its own.
bool may_be_behind(const RunView& run);

double share_of(std::uint64_t part, std::uint64_t whole); // 1 of nothing
std::string percent(double share);                        // "12.3 %"

// What kept the rest of the host busy, in words.
std::string busy_others(const RunView& run);

// "3, 17, 18, …": the first few of `total` numbers.
std::string named(const std::vector<std::uint64_t>& first, std::uint64_t total);

} // namespace mqcore::verdict
