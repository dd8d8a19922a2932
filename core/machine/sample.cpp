#include "machine/sample.hpp"

#include "machine/proc_text.hpp"
#include "support/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>

namespace mqcore::machine {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;

Nanoseconds tick_ns() {
    static const auto ticks_a_second = static_cast<Nanoseconds>(::sysconf(_SC_CLK_TCK));
    return support::kSecond / ticks_a_second;
}

// proc(5), /proc/PID/stat: the name stands in parentheses and may hold anything, so fields are
// counted from the last ')'; the first one after it is number 3.
struct Stat {
    std::string name;
    std::uint64_t user_ticks = 0, sys_ticks = 0;
};
std::optional<Stat> parse_stat(std::string_view text) {
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos)
        return std::nullopt;
    Stat stat{.name = std::string(text.substr(open + 1, close - open - 1))};
    constexpr int kUserTime = 14, kSystemTime = 15;
    std::size_t at = close + 2;
    for (int field = 3; field <= kSystemTime && at < text.size(); ++field) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const auto value = number_in<std::uint64_t>(text.substr(at, end - at)).value_or(0);
        if (field == kUserTime)
            stat.user_ticks = value;
        if (field == kSystemTime)
            stat.sys_ticks = value;
        at = end + 1;
    }
    return stat;
}

void read_stat(const std::filesystem::path& folder, ProcessSample& sample) {
    const auto text = read_text(folder / "stat");
    const auto stat = text ? parse_stat(*text) : std::nullopt;
    if (stat) {
        sample.user_ticks = stat->user_ticks;
        sample.sys_ticks = stat->sys_ticks;
        return;
    }
    const std::string why = text ? "/proc/PID/stat has another form" : text.error().message;
    sample.unavailable["cpu_user_ns"] = sample.unavailable["cpu_sys_ns"] = why;
}

void read_status(const std::filesystem::path& folder, ProcessSample& sample) {
    const auto text = read_text(folder / "status");
    const auto take = [&](const char* name, const char* key) {
        const auto value = text ? field_after(*text, key) : std::nullopt;
        if (!value)
            sample.unavailable[name] =
                text ? fmt::format("/proc/PID/status has no {}", key) : text.error().message;
        return value;
    };
    sample.rss_kib = take("rss_kib", "VmRSS:");
    sample.rss_peak_kib = take("rss_peak_kib", "VmHWM:");
    sample.threads = take("threads", "Threads:");
}

// The process's own status counts its main thread alone, so every thread is read.
void read_switches(const std::filesystem::path& folder, ProcessSample& sample) {
    std::map<pid_t, Switches> switches;
    std::string why;
    std::error_code error;
    std::filesystem::directory_iterator threads(folder / "task", error);
    if (error)
        why = fmt::format("cannot read /proc/PID/task: {}", error.message());
    for (const auto end = std::filesystem::directory_iterator(); !error && threads != end;
         threads.increment(error)) {
        const auto thread = number_in<pid_t>(threads->path().filename().string());
        const auto text = read_text(threads->path() / "status");
        if (!text)
            continue; // it ended since the folder was listed
        const auto voluntary = field_after(*text, "voluntary_ctxt_switches:");
        const auto involuntary = field_after(*text, "nonvoluntary_ctxt_switches:");
        if (thread && voluntary && involuntary)
            switches[*thread] = {*voluntary, *involuntary};
    }
    if (!switches.empty())
        sample.switches = std::move(switches);
    else
        sample.unavailable["voluntary_switches"] = sample.unavailable["involuntary_switches"] =
            why.empty() ? "the kernel does not count them" : why;
}

std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                        const std::optional<std::uint64_t>& after) {
    return before && after && *after >= *before ? std::optional(*after - *before) : std::nullopt;
}

void split_cpu(const ProcessSample& before, const ProcessSample& after, ProcessUse& use) {
    const auto user = difference(before.user_ticks, after.user_ticks);
    const auto sys = difference(before.sys_ticks, after.sys_ticks);
    if (!use.cpu_ns || !user || !sys)
        return;
    if (*user + *sys == 0) {
        const std::string why = fmt::format(
            "the kernel splits user and system time in ticks of {} ms and the process used less",
            tick_ns() / support::kMillisecond);
        use.unavailable["cpu_user_ns"] = use.unavailable["cpu_sys_ns"] = why;
        return;
    }
    const double share = static_cast<double>(*user) / static_cast<double>(*user + *sys);
    use.cpu_user_ns = static_cast<std::uint64_t>(static_cast<double>(*use.cpu_ns) * share);
    use.cpu_sys_ns = *use.cpu_ns - *use.cpu_user_ns;
}

void sum_switches(const ProcessSample& before, const ProcessSample& after, ProcessUse& use) {
    if (!before.switches || !after.switches)
        return;
    Switches sum;
    for (const auto& [thread, now] : *after.switches) {
        const auto old = before.switches->find(thread);
        const Switches start = old == before.switches->end() ? Switches{} : old->second;
        sum.voluntary += now.voluntary - start.voluntary;
        sum.involuntary += now.involuntary - start.involuntary;
    }
    const bool has_lost_thread = std::ranges::any_of(*before.switches, [&](const auto& entry) {
        return !after.switches->contains(entry.first);
    });
    if (has_lost_thread) {
        use.unavailable["voluntary_switches"] = use.unavailable["involuntary_switches"] =
            "a thread ended in the window and took its count along";
        return;
    }
    use.voluntary_switches = sum.voluntary;
    use.involuntary_switches = sum.involuntary;
}

Json or_null(const auto& value) { return value ? Json(*value) : Json(nullptr); }

Json reasons_json(const Reasons& reasons) {
    JsonObject object;
    for (const auto& [name, why] : reasons)
        object[name] = why;
    return object;
}

HostSample::Ticks ticks_of(std::string_view line) {
    // proc(5), /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice
    std::array<std::uint64_t, 8> field{};
    std::size_t at = 0;
    for (std::uint64_t& value : field) {
        at = line.find_first_not_of(' ', at);
        if (at == std::string::npos)
            break; // an old kernel: the rest stays 0
        const std::size_t end = std::min(line.find(' ', at), line.size());
        value = number_in<std::uint64_t>(line.substr(at, end - at)).value_or(0);
        at = end;
    }
    return HostSample::Ticks{.user = field[0],
                             .nice = field[1],
                             .system = field[2],
                             .iowait = field[4],
                             .irq = field[5],
                             .softirq = field[6],
                             .steal = field[7]};
}

// "cpu  1 2 …" of all, then "cpu0 1 2 …" of each.
void parse_host_ticks(std::string_view text, HostSample& sample) {
    for (std::string_view rest = text; rest.starts_with("cpu");) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::size_t blank = std::min(line.find(' '), line.size());
        constexpr std::size_t kName = 3;
        if (const auto number = number_in<int>(line.substr(kName, blank - kName)))
            sample.cpus[*number] = ticks_of(line.substr(blank));
        else
            sample.ticks = ticks_of(line.substr(blank));
    }
}

void read_processes(const std::filesystem::path& proc, HostSample& sample) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(proc, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos)
            continue;
        const auto text = read_text(entry->path() / "stat");
        const auto stat = text ? parse_stat(*text) : std::nullopt;
        if (const auto pid = number_in<pid_t>(name); pid && stat)
            sample.processes[*pid] = {.name = stat->name,
                                      .ticks = stat->user_ticks + stat->sys_ticks};
    }
    if (sample.processes.size() <= 1)
        sample.unavailable["top"] =
            "/proc shows no other process (hidepid, or a process namespace)";
}

} // namespace

ProcessSampler::ProcessSampler(pid_t pid, std::filesystem::path proc)
    : pid_(pid), folder_(std::move(proc) / std::to_string(pid)) {}

void ProcessSampler::begin() {
    // proc(5): writing 5 to clear_refs resets VmHWM to the current resident set.
    const support::UniqueFd fd(::open((folder_ / "clear_refs").c_str(), O_WRONLY | O_CLOEXEC));
    is_peak_reset_ = fd && ::write(fd.get(), "5", 1) == 1;
}

CpuTime ProcessSampler::cpu_time() const {
    clockid_t clock{};
    timespec time{};
    int failed = ::clock_getcpuclockid(pid_, &clock);
    if (failed == 0 && ::clock_gettime(clock, &time) != 0)
        failed = errno;
    CpuTime cpu{.at_ns = support::now_ns(), .cpu_ns = {}, .why_not = {}};
    if (failed)
        cpu.why_not = fmt::format("no CPU clock: {}", std::strerror(failed));
    else
        cpu.cpu_ns = static_cast<Nanoseconds>(time.tv_sec) * support::kSecond +
                     static_cast<Nanoseconds>(time.tv_nsec);
    return cpu;
}

ProcessSample ProcessSampler::sample(const CpuTime& cpu) const {
    ProcessSample sample;
    sample.at_ns = cpu.at_ns;
    sample.cpu_ns = cpu.cpu_ns;
    if (!cpu.cpu_ns)
        sample.unavailable["cpu_ns"] = cpu.why_not;
    read_stat(folder_, sample);
    read_status(folder_, sample);
    read_switches(folder_, sample);
    return sample;
}

ProcessUse ProcessSampler::use_between(const ProcessSample& before,
                                       const ProcessSample& after) const {
    ProcessUse use;
    use.span_ns = after.at_ns - before.at_ns;
    use.cpu_ns = difference(before.cpu_ns, after.cpu_ns);
    use.rss_peak_kib = after.rss_peak_kib;
    use.rss_kib = after.rss_kib;
    use.threads = after.threads;
    use.is_peak_sampled = !is_peak_reset_;
    use.unavailable = before.unavailable;
    use.unavailable.insert(after.unavailable.begin(), after.unavailable.end());
    if (!is_peak_reset_)
        use.rss_peak_kib = before.rss_kib && after.rss_kib
                               ? std::optional(std::max(*before.rss_kib, *after.rss_kib))
                               : std::nullopt;
    split_cpu(before, after, use);
    sum_switches(before, after, use);
    if (!use.cpu_ns)
        for (const char* name : {"cpu_ns", "cpu_user_ns", "cpu_sys_ns"})
            use.unavailable.insert({name, "there are no two CPU times to subtract"});
    return use;
}

ProcessUse unavailable_use(const std::string& reason) {
    ProcessUse use;
    for (const char* name : {"cpu_ns", "cpu_user_ns", "cpu_sys_ns", "rss_peak_kib", "rss_kib",
                             "threads", "voluntary_switches", "involuntary_switches"})
        use.unavailable[name] = reason;
    return use;
}

Json to_json(const ProcessUse& use) {
    return JsonObject{{"cpu_ns", or_null(use.cpu_ns)},
                      {"cpu_user_ns", or_null(use.cpu_user_ns)},
                      {"cpu_sys_ns", or_null(use.cpu_sys_ns)},
                      {"rss_peak_kib", or_null(use.rss_peak_kib)},
                      {"rss_peak_sampled", use.is_peak_sampled},
                      {"rss_kib", or_null(use.rss_kib)},
                      {"threads", or_null(use.threads)},
                      {"voluntary_switches", or_null(use.voluntary_switches)},
                      {"involuntary_switches", or_null(use.involuntary_switches)},
                      {"span_ns", use.span_ns},
                      {"unavailable", reasons_json(use.unavailable)}};
}

HostSample sample_host(const std::filesystem::path& proc) {
    HostSample sample;
    sample.at_ns = support::now_ns();
    const auto text = read_text(proc / "stat");
    if (text)
        parse_host_ticks(*text, sample);
    const std::string why = text ? "/proc/stat has another form" : text.error().message;
    if (!sample.ticks)
        sample.unavailable["other_busy_cores"] = sample.unavailable["kernel_busy_cores"] = why;
    if (sample.cpus.empty())
        sample.unavailable["cpus"] = why;
    read_processes(proc, sample);
    return sample;
}

HostUse use_between(const HostSample& before, const HostSample& after, Nanoseconds parties_cpu_ns,
                    const std::vector<pid_t>& party_pids) {
    HostUse use;
    use.unavailable = before.unavailable;
    use.unavailable.insert(after.unavailable.begin(), after.unavailable.end());
    const auto span = static_cast<double>(after.at_ns - before.at_ns);
    const auto cores = [&](std::uint64_t from, std::uint64_t to) {
        return to > from ? static_cast<double>((to - from) * tick_ns()) / span : 0.0;
    };

    std::map<std::string, double> by_name;
    double of_processes = 0;
    for (const auto& [pid, process] : after.processes) {
        const auto old = before.processes.find(pid);
        const double busy =
            cores(old == before.processes.end() ? 0 : old->second.ticks, process.ticks);
        if (busy > 0 && std::ranges::find(party_pids, pid) == party_pids.end()) {
            by_name[process.name] += busy;
            of_processes += busy;
        }
    }
    for (const auto& [name, busy] : by_name)
        use.top.push_back({name, busy});
    std::ranges::sort(use.top, std::ranges::greater(), &HostUse::Process::cores);
    constexpr std::size_t kNamed = 5;
    use.top.resize(std::min(use.top.size(), kNamed));

    for (const auto& [number, to] : after.cpus) {
        const auto old = before.cpus.find(number);
        if (old == before.cpus.end())
            continue; // came online in the window
        const HostSample::Ticks& from = old->second;
        const double irq = cores(from.irq, to.irq), softirq = cores(from.softirq, to.softirq);
        use.cpus.push_back(
            {.number = number,
             .busy = cores(from.user + from.nice + from.system, to.user + to.nice + to.system) +
                     irq + softirq,
             .irq = irq,
             .softirq = softirq,
             .steal = cores(from.steal, to.steal),
             .iowait = cores(from.iowait, to.iowait)});
    }

    if (before.ticks && after.ticks) {
        const auto &from = *before.ticks, &to = *after.ticks;
        use.irq = cores(from.irq, to.irq);
        use.softirq = cores(from.softirq, to.softirq);
        use.steal = cores(from.steal, to.steal);
        use.iowait = cores(from.iowait, to.iowait);
        use.kernel_busy_cores = *use.irq + *use.softirq + *use.steal;
        // Whether a process's clock includes the softirq work done in its name depends on the
        // kernel's configuration. Without softirq in the sum this is a lower bound on either kind;
        // the living processes' own ticks are another one. The larger of the two is told.
        const double total =
            cores(from.user + from.nice + from.system, to.user + to.nice + to.system);
        const double of_parties = static_cast<double>(parties_cpu_ns) / span;
        use.other_busy_cores = std::max({0.0, total - of_parties, of_processes});
    }
    return use;
}

Json to_json(const HostUse& use) {
    const auto rounded = [](const std::optional<double>& cores) {
        return cores ? Json(std::round(*cores * 1000) / 1000) : Json(nullptr);
    };
    JsonArray top;
    for (const HostUse::Process& process : use.top)
        top.push_back(JsonObject{{"name", process.name}, {"cores", rounded(process.cores)}});
    JsonArray number, busy, irq, softirq, steal, iowait;
    for (const HostUse::Cpu& cpu : use.cpus) {
        number.emplace_back(cpu.number);
        busy.push_back(rounded(cpu.busy));
        irq.push_back(rounded(cpu.irq));
        softirq.push_back(rounded(cpu.softirq));
        steal.push_back(rounded(cpu.steal));
        iowait.push_back(rounded(cpu.iowait));
    }
    return JsonObject{{"other_busy_cores", rounded(use.other_busy_cores)},
                      {"kernel_busy_cores", rounded(use.kernel_busy_cores)},
                      {"irq_cores", rounded(use.irq)},
                      {"softirq_cores", rounded(use.softirq)},
                      {"steal_cores", rounded(use.steal)},
                      {"iowait_cores", rounded(use.iowait)},
                      {"cpus", JsonObject{{"number", std::move(number)},
                                          {"busy", std::move(busy)},
                                          {"irq", std::move(irq)},
                                          {"softirq", std::move(softirq)},
                                          {"steal", std::move(steal)},
                                          {"iowait", std::move(iowait)}}},
                      {"top", std::move(top)},
                      {"unavailable", reasons_json(use.unavailable)}};
}

} // namespace mqcore::machine
