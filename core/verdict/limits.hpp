#pragma once
// Every number that a judgement depends on. The texts of the table are made from these constants, so
// that what is explained is what is enforced. A changed limit changes what a result means: it belongs
// into the notes of a release.

#include <cstdint>

namespace mqcore::verdict {

// Counts of two parties agree within kSlack + kSlackShare of the larger one: the broker publishes its
// counters once a second and counts control packets between two readings. Exact accounting by
// sequence number has no slack at all.
constexpr std::uint64_t kSlack = 5;
constexpr double kSlackShare = 0.0005;

constexpr double kHeldShare = 0.98; // of a fixed offer, from which on it counts as held
// What one stall at the window's edge may push over it without anybody falling behind: this much of
// the offer, and one message of at least so many. A delayed acknowledgement alone costs 40 ms. It only
// matters for windows below kEdgeSeconds / (1 - kHeldShare) = 5 s.
constexpr double kEdgeSeconds = 0.1;
constexpr std::uint64_t kEdgeOneIn = 20;
constexpr double kBrokerBusyShare = 0.85; // of one core: Mosquitto does all its work on one thread
constexpr double kCeilingShare = 0.95; // of the broker's measured ceiling, from which on it binds
constexpr double kQuietCores = 0.5;    // busy outside the parties, up to which a host is quiet
constexpr double kFloorShare = 0.02;   // of a client's own cost, above which mqcore's matters

// Fewest samples for a percentile to rest on at least ten of them; p99.9 needs 10,000.
constexpr std::uint64_t kSamplesBehind = 10;

// A paced sender could wait before every tick (or message). At half of these waits and more it was
// sleeping, without one it was saturated.
constexpr double kSleepingShare = 0.5;

constexpr std::uint64_t slack_of(std::uint64_t count) {
    return kSlack + static_cast<std::uint64_t>(kSlackShare * static_cast<double>(count));
}
constexpr bool agree(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t larger = a > b ? a : b;
    const std::uint64_t smaller = a > b ? b : a;
    return larger - smaller <= slack_of(larger);
}
constexpr bool is_held(std::uint64_t done, std::uint64_t asked, double window_seconds) {
    if (asked >= kEdgeOneIn && done + 1 >= asked)
        return true;
    const double by_edge = window_seconds > 0 ? 1 - kEdgeSeconds / window_seconds : kHeldShare;
    const double share = by_edge < kHeldShare ? by_edge : kHeldShare;
    return static_cast<double>(done) >= share * static_cast<double>(asked);
}
// more() is true when a is above b by more than the slack.
constexpr bool more(std::uint64_t a, std::uint64_t b) { return a > b && !agree(a, b); }

} // namespace mqcore::verdict
