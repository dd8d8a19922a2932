#pragma once
// Events of another process that the kernel counts for us (perf_event_open): instructions, cycles and
// system calls, over all its threads. Nothing runs inside the process; the processor counts, and the
// kernel saves and loads the counters when a thread of the process is switched. An event that cannot
// be counted is missing, and a reason says why and what would mend it; a count is never 0 for unknown.

#include "machine/sample.hpp"
#include "support/result.hpp"
#include "support/unique_fd.hpp"

#include <span>

namespace mqcore::machine {

// One row of the kernel's: perf_event_open(2), fields `type` and `config`.
struct EventKind {
    std::string name; // as in the result files
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    bool counts_user = true, counts_kernel = true;
};

// user_instructions, kernel_instructions, user_cycles, kernel_cycles.
std::span<const EventKind> hardware_events();

// system_calls. Its number differs by kernel and stands in tracefs; the Error says how to have it.
// While anybody counts it, every process of the machine takes a slower way into the kernel (some
// 0.1 µs a call, more in the counted one), so it must not be open in a window that is measured.
support::Result<EventKind> system_call_event(const std::filesystem::path& root = "/");

// Since the events were opened.
struct EventReading {
    std::uint64_t value = 0;
    std::uint64_t wanted_ns = 0;  // while a thread of the process ran
    std::uint64_t counted_ns = 0; // of it, while the event had a hardware counter
};
using EventSample = std::map<std::string, EventReading>;

struct EventUse {
    std::map<std::string, std::uint64_t> counts;
    // The smallest share of the time in which an event had a hardware counter. Below 1 the processor
    // has too few of them, and the counts are scaled up by it. Nothing: no event was counted.
    std::optional<double> share;
    Reasons unavailable;
};

// Counts from its construction to its end, in every thread that the process has or starts, and in
// processes that it starts.
class EventCounters {
  public:
    EventCounters(pid_t pid, std::span<const EventKind> kinds);

    EventSample sample() const; // one system call for each event and thread
    EventUse use_between(const EventSample& before, const EventSample& after) const;
    // By the event's name: which cannot be counted, and what would mend it.
    const std::map<std::string, support::Error>& errors() const { return errors_; }

  private:
    bool open_on_every_thread(std::span<const EventKind> kinds);
    void fail_all(std::span<const EventKind> kinds, const std::string& reason);

    pid_t pid_;
    std::map<std::string, std::vector<support::UniqueFd>> descriptors_; // by event
    std::map<std::string, support::Error> errors_;
};

// Every event is missing for one reason.
EventUse unavailable_events(std::span<const EventKind> kinds, const std::string& reason);

// Why perf_event_open failed with this number for such an event, and what would mend it.
// `paranoid`: kernel.perf_event_paranoid, empty when it cannot be read.
support::Error why_not_counted(int error_number, const EventKind& kind,
                               std::optional<int> paranoid);

} // namespace mqcore::machine
