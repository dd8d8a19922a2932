#pragma once
// A run over time: what its parties counted in each interval of the schedule, and the CPU times that were
// read at the intervals' bounds. Reads one run document; one from before there were series has none.

#include "measure/intervals.hpp"
#include "verdict/view.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mqcore::verdict {

// One value an interval; nothing: not known.
using Column = std::vector<Count>;

struct ReceivedSeries {
    Column arrived;
    Column slowest_us;   // largest latency of what arrived; empty: no payload carries a stamp
    std::string latency; // which one that is: "since_due" or "transit"
};
struct SentSeries {
    Column sent, completed;
};
struct PartySeries {
    std::optional<SentSeries> send;
    std::optional<ReceivedSeries> receive;
};

struct Series {
    measure::Intervals intervals{measure::Schedule{}};
    // Counts have one more interval than the schedule: what came after its end.
    PartySeries client, peer;
    Column due; // what a fixed rate asks of each sender; empty: no fixed rate
    // Messages of the point's result: what arrived at the receiver that confirms the rate, on duplex points
    // at both; empty: nobody reported. The latency is that of the result's receiver.
    Column confirmed, slowest_us;
    std::string latency; // as in ReceivedSeries; empty: none
    // Share of a core between the readings at the ends of each interval; empty: not read.
    std::vector<Number> client_cores, broker_cores;

    // In seconds from the window's start, negative in the warm-up.
    double begin_s(std::size_t interval) const;
    double length_s(std::size_t interval) const;        // 0: after the schedule's end
    std::string_view phase(std::size_t interval) const; // "warmup", "window", "drain", "after"
};

// Nothing: the document has none.
std::optional<Series> series_of(const RunView& run);

// What of a run's series is not the count that the run has as a whole, one text each.
std::vector<std::string> faults_of_series(const RunView& run);

} // namespace mqcore::verdict
