#include "machine/events.hpp"

#include "machine/proc_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <set>
#include <sys/syscall.h>
#include <utility>

namespace mqcore::machine {
namespace {

using support::Error;
using support::ErrorCode;
using support::UniqueFd;

std::set<pid_t> threads_of(pid_t pid) {
    std::set<pid_t> threads;
    std::error_code error;
    std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", pid), error);
    for (const auto end = std::filesystem::directory_iterator(); !error && entry != end;
         entry.increment(error))
        if (const auto thread = number_in<pid_t>(entry->path().filename().string()))
            threads.insert(*thread);
    return threads;
}

UniqueFd open_event(const EventKind& kind, pid_t thread) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = kind.type;
    attributes.config = kind.config;
    attributes.inherit = 1;
    attributes.exclude_user = !kind.counts_user;
    attributes.exclude_kernel = !kind.counts_kernel;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    constexpr int kAnyCpu = -1, kNoGroup = -1;
    return UniqueFd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, kAnyCpu,
                                               kNoGroup, PERF_FLAG_FD_CLOEXEC)));
}

std::optional<int> paranoid_level() {
    const auto text = read_text("/proc/sys/kernel/perf_event_paranoid");
    return text ? number_in<int>(*text) : std::nullopt;
}

} // namespace

std::span<const EventKind> hardware_events() {
    static const std::array<EventKind, 4> kEvents = {{
        {"user_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false},
        {"kernel_instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, true},
        {"user_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false},
        {"kernel_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true},
    }};
    return kEvents;
}

support::Result<EventKind> system_call_event(const std::filesystem::path& root) {
    const auto text = read_text(root / "sys/kernel/tracing/events/raw_syscalls/sys_enter/id");
    const auto number = text ? number_in<std::uint64_t>(*text) : std::nullopt;
    if (number)
        return EventKind{.name = "system_calls", .type = PERF_TYPE_TRACEPOINT, .config = *number};
    return Error{ErrorCode::host,
                 text ? "the tracepoint of system calls has no number" : text.error().message,
                 "as root, 'mount -t tracefs tracefs /sys/kernel/tracing', and run as a user who "
                 "may read it"};
}

Error why_not_counted(int error_number, const EventKind& kind, std::optional<int> paranoid) {
    const auto because = [](std::string message, std::string hint) {
        return Error{ErrorCode::host, std::move(message), std::move(hint)};
    };
    switch (error_number) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return because("this machine has no hardware counter for it",
                       "usual in a virtual machine: give it a virtual PMU, or measure on the "
                       "machine itself");
    case ENOSYS:
        return because("perf_event_open is not there",
                       "use a kernel with CONFIG_PERF_EVENTS, and a container profile that lets "
                       "the call pass");
    case EACCES:
    case EPERM: {
        const int highest = kind.counts_kernel ? 1 : 2; // that lets an ordinary user count it
        if (paranoid && *paranoid > highest)
            return because(
                fmt::format("kernel.perf_event_paranoid is {} and forbids it", *paranoid),
                "as root, 'sysctl kernel.perf_event_paranoid=1'");
        return because(fmt::format("perf_event_open: {}", std::strerror(error_number)),
                       "a container needs a profile that lets the call pass, or CAP_PERFMON");
    }
    default:
        return because(fmt::format("perf_event_open: {}", std::strerror(error_number)), "");
    }
}

EventCounters::EventCounters(pid_t pid, std::span<const EventKind> kinds) : pid_(pid) {
    constexpr int kAttempts = 5;
    for (int attempt = 0; attempt < kAttempts; ++attempt)
        if (open_on_every_thread(kinds))
            return;
    descriptors_.clear();
    fail_all(kinds, "threads came and went while the counters were opened");
}

void EventCounters::fail_all(std::span<const EventKind> kinds, const std::string& reason) {
    for (const EventKind& kind : kinds)
        errors_[kind.name] = {ErrorCode::host, reason, {}};
}

// `inherit` counts the threads that an opened one starts from then on. One that started in between
// would be counted twice or not at all, depending on its parent. False: there was one, or one ended.
bool EventCounters::open_on_every_thread(std::span<const EventKind> kinds) {
    descriptors_.clear();
    errors_.clear();
    const std::set<pid_t> threads = threads_of(pid_);
    if (threads.empty()) {
        fail_all(kinds, "the process has no threads that can be seen");
        return true;
    }
    for (const EventKind& kind : kinds) {
        std::vector<UniqueFd> opened;
        for (const pid_t thread : threads) {
            opened.push_back(open_event(kind, thread));
            if (opened.back())
                continue;
            if (errno == ESRCH)
                return false;
            errors_[kind.name] = why_not_counted(errno, kind, paranoid_level());
            break;
        }
        if (!errors_.contains(kind.name))
            descriptors_[kind.name] = std::move(opened);
    }
    return descriptors_.empty() || threads_of(pid_) == threads;
}

EventSample EventCounters::sample() const {
    EventSample sample;
    for (const auto& [name, descriptors] : descriptors_) {
        EventReading sum;
        const bool is_read = std::ranges::all_of(descriptors, [&](const UniqueFd& descriptor) {
            EventReading one; // in the order of read_format
            static_assert(sizeof one == 3 * sizeof(std::uint64_t));
            if (::read(descriptor.get(), &one, sizeof one) != sizeof one)
                return false;
            sum.value += one.value;
            sum.wanted_ns += one.wanted_ns;
            sum.counted_ns += one.counted_ns;
            return true;
        });
        if (is_read)
            sample[name] = sum;
    }
    return sample;
}

EventUse EventCounters::use_between(const EventSample& before, const EventSample& after) const {
    EventUse use;
    for (const auto& [name, error] : errors_)
        use.unavailable[name] = support::one_line(error);
    for (const auto& [name, descriptors] : descriptors_) {
        const auto from = before.find(name), to = after.find(name);
        if (from == before.end() || to == after.end()) {
            use.unavailable[name] = "the counter could not be read";
            continue;
        }
        const std::uint64_t value = to->second.value - from->second.value;
        const std::uint64_t wanted = to->second.wanted_ns - from->second.wanted_ns;
        const std::uint64_t counted = to->second.counted_ns - from->second.counted_ns;
        if (wanted > 0 && counted == 0) {
            use.unavailable[name] = "others held the hardware counters all the time (the kernel's "
                                    "watchdog: as root, 'sysctl kernel.nmi_watchdog=0')";
            continue;
        }
        const double share =
            wanted > 0 ? static_cast<double>(counted) / static_cast<double>(wanted) : 1;
        use.share = std::min(use.share.value_or(1), share);
        use.counts[name] = static_cast<std::uint64_t>(static_cast<double>(value) / share);
    }
    return use;
}

EventUse unavailable_events(std::span<const EventKind> kinds, const std::string& reason) {
    EventUse use;
    for (const EventKind& kind : kinds)
        use.unavailable[kind.name] = reason;
    return use;
}

} // namespace mqcore::machine
