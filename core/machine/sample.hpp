#pragma once
// What a process and the host used, read from outside at two instants. Nothing runs inside the
// process that is measured. Every value may be missing; then `unavailable` says why: an unknown is
// never a 0. One sample of a process costs a few 10 µs of the caller's core, 1 µs for the CPU
// clock.

#include "support/clock.hpp"
#include "support/json.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mqcore::machine {

using support::Nanoseconds;
using Reasons = std::map<std::string, std::string>; // name of a value -> why it is missing

struct Switches {
    std::uint64_t voluntary = 0;
    std::uint64_t involuntary = 0;
};

// A process's CPU clock. What a thread has run since the kernel last looked at it (a timer tick, a switch)
// may not be in it yet.
struct CpuTime {
    Nanoseconds at_ns = 0;             // when it was read
    std::optional<Nanoseconds> cpu_ns; // all threads, living and ended, to the nanosecond
    std::string why_not;
};

struct ProcessSample {
    Nanoseconds at_ns = 0;                              // when the CPU clock was read
    std::optional<Nanoseconds> cpu_ns;                  // as it says
    std::optional<std::uint64_t> user_ticks, sys_ticks; // the kernel's split of it, in clock ticks
    std::optional<std::uint64_t> rss_kib, rss_peak_kib, threads;
    std::optional<std::map<pid_t, Switches>>
        switches; // by thread: an ended thread takes its own along
    Reasons unavailable;
};

// Use over the window. cpu_user_ns + cpu_sys_ns = cpu_ns; the split is the kernel's tick accounting
// scaled to the exact total and is missing where less than one tick was used.
struct ProcessUse {
    Nanoseconds span_ns = 0; // between the two readings of the CPU clock
    std::optional<std::uint64_t> cpu_ns, cpu_user_ns, cpu_sys_ns;
    std::optional<std::uint64_t> rss_peak_kib, rss_kib, threads; // the last two: at the end
    std::optional<std::uint64_t> voluntary_switches, involuntary_switches;
    bool is_peak_sampled = false; // the kernel's peak could not be reset: the larger of two samples
    Reasons unavailable;
};

// Reads one process. begin() before the window's edge, then sample() at each edge.
class ProcessSampler {
  public:
    explicit ProcessSampler(pid_t pid, std::filesystem::path proc = "/proc");

    // Resets the kernel's record of the peak memory. At most a short pause of the process's page
    // faults, so it belongs into the warm-up.
    void begin();
    // One system call, and nothing that the process could notice.
    CpuTime cpu_time() const;
    // The CPU clock first, the rest after it. With a CPU time that was read just before: the rest alone.
    ProcessSample sample() const { return sample(cpu_time()); }
    ProcessSample sample(const CpuTime& cpu) const;
    ProcessUse use_between(const ProcessSample& before, const ProcessSample& after) const;

  private:
    pid_t pid_;
    std::filesystem::path folder_; // /proc/PID
    bool is_peak_reset_ = false;
};

// A party that mqcore cannot sample: every value is missing for one reason.
ProcessUse unavailable_use(const std::string& reason);

// {"cpu_ns", "cpu_user_ns", ..., "span_ns", "unavailable": {...}}; see docs/architecture.md.
support::Json to_json(const ProcessUse& use);

struct HostSample {
    Nanoseconds at_ns = 0;
    // Clock ticks, from /proc/stat: of all CPUs and of each.
    struct Ticks {
        std::uint64_t user = 0, nice = 0, system = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    };
    std::optional<Ticks> ticks;
    std::map<int, Ticks> cpus; // by logical CPU
    struct Process {
        std::string name;
        std::uint64_t ticks = 0;
    };
    std::map<pid_t, Process> processes;
    Reasons unavailable;
};

struct HostUse {
    // CPU time of everything but the parties, in cores; clock ticks, so good to 0.01 cores a
    // second.
    std::optional<double> other_busy_cores;
    // Time of interrupts and of the hypervisor that no process is charged for, in cores. iowait is
    // idle time and listed for diagnosis only.
    std::optional<double> kernel_busy_cores, irq, softirq, steal, iowait;
    struct Process {
        std::string name;
        double cores = 0;
    };
    // Shares of a logical CPU's time. busy: neither idle nor taken by the hypervisor; irq and softirq
    // are part of it. iowait is idle time.
    struct Cpu {
        int number = 0;
        double busy = 0, irq = 0, softirq = 0, steal = 0, iowait = 0;
    };
    std::vector<Cpu> cpus;
    std::vector<Process> top; // the busiest processes that are no party, most first
    Reasons unavailable;
};

// Walks /proc: some milliseconds of the caller's core.
HostSample sample_host(const std::filesystem::path& proc = "/proc");

// `parties_cpu_ns`: what the parties used in the same span. `party_pids` do not count as others.
HostUse use_between(const HostSample& before, const HostSample& after, Nanoseconds parties_cpu_ns,
                    const std::vector<pid_t>& party_pids);

support::Json to_json(const HostUse& use);

} // namespace mqcore::machine
