#include "machine/doctor.hpp"

#include "machine/condition.hpp"
#include "machine/events.hpp"
#include "machine/mosquitto.hpp"
#include "machine/proc_text.hpp"
#include "machine/sample.hpp"
#include "support/text.hpp"
#include "support/unique_fd.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

namespace mqcore::machine {
namespace {

namespace fs = std::filesystem;

// What one check saw.
struct Answer {
    Outcome outcome;
    std::string detail;
    std::string mend = {};
};

// Read once, used by several checks.
struct Host {
    const DoctorQuestions& ask;
    Topology topology;
    MachineFacts facts;
    HostSample processes;
};

Answer physical_cores(const Host& host) {
    const std::size_t usable = host.topology.cores.size();
    const CorePlan plan = plan_cores(host.topology);
    const std::string seen =
        fmt::format("{} usable of {} in the machine", usable, host.topology.cores_in_machine);
    if (!plan.shares_cores)
        return {Outcome::ok, seen};
    return {Outcome::warn, fmt::format("{}; {}", seen, plan.sharing),
            "runs work but are marked non_comparable; use a machine with four physical cores, or "
            "widen the cpuset"};
}

Answer cpu_quota(const Host& host) {
    const auto& quota = host.facts.cpu_quota_cores;
    if (!quota)
        return {Outcome::ok, "none"};
    const std::string seen = fmt::format("the control group allows {:.2g} cores", *quota);
    if (*quota >= kCoresWanted)
        return {Outcome::ok, seen};
    return {Outcome::warn, seen, "raise the container's CPU limit to four cores or remove it"};
}

Answer governor(const Host& host) {
    if (host.facts.governors.empty())
        return {Outcome::warn, host.facts.unavailable.at("governor"),
                "nothing to do in a virtual machine; runs are marked non_comparable"};
    for (const auto& [cpu, name] : host.facts.governors)
        if (name != "performance")
            return {Outcome::warn, fmt::format("CPU {} has '{}'", cpu, name),
                    "set it: 'cpupower frequency-set --governor performance'"};
    return {Outcome::ok, "performance on every usable CPU"};
}

// The worker's share, the broker's (it inherits the limit) and what each opens besides.
constexpr std::uint64_t kDescriptorsBesides = 64;

Answer open_files(const Host& host) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const std::uint64_t needed = host.ask.connections + kDescriptorsBesides;
    const std::string seen = fmt::format("'ulimit -n' is {}; {} are needed for {} connections",
                                         limit.rlim_cur, needed, host.ask.connections);
    if (limit.rlim_cur >= needed)
        return {Outcome::ok, seen};
    return {Outcome::fail, seen,
            fmt::format("raise it in this shell: 'ulimit -n {}'{}", needed,
                        limit.rlim_max < needed
                            ? fmt::format("; the hard limit is {}, so root must raise that first",
                                          limit.rlim_max)
                            : "")};
}

Answer source_ports(const Host& host) {
    const auto range = read_text(host.ask.root / "proc/sys/net/ipv4/ip_local_port_range");
    if (!range)
        return {Outcome::warn, range.error().message, "nothing, if runs connect"};
    const auto low = number_in<std::uint64_t>(*range);
    const std::size_t gap = range->find_first_of(" \t");
    const auto high = gap == std::string::npos
                          ? std::nullopt
                          : number_in<std::uint64_t>(
                                std::string_view(*range).substr(range->find_last_of(" \t") + 1));
    if (!low || !high || *high < *low)
        return {Outcome::warn, "ip_local_port_range has another form", "nothing, if runs connect"};
    // A port of a connection that was closed stays taken for a minute (TIME_WAIT).
    const auto sockets = read_text(host.ask.root / "proc/net/sockstat");
    const auto line = sockets ? line_after(*sockets, "TCP:") : std::nullopt;
    std::uint64_t waiting = 0;
    if (const std::size_t at = line ? line->find(" tw ") : std::string::npos;
        at != std::string::npos)
        waiting = number_in<std::uint64_t>(std::string_view(*line).substr(at + 4)).value_or(0);
    const std::uint64_t ports = *high - *low + 1;
    const std::uint64_t needed = host.ask.connections + kDescriptorsBesides;
    const std::string seen =
        fmt::format("{} source ports ({}-{}), {} of them waiting after a close; {} are needed",
                    ports, *low, *high, waiting, needed);
    if (ports >= needed + waiting)
        return {Outcome::ok, seen};
    return {Outcome::fail, seen,
            "wait a minute, or widen the range: 'sysctl net.ipv4.ip_local_port_range=\"1024 "
            "65535\"'"};
}

Answer loopback(const Host&) {
    const support::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(fd.get(), 1) == 0)
        return {Outcome::ok, "a free port on 127.0.0.1 can be had"};
    return {Outcome::fail, fmt::format("no port on 127.0.0.1: {}", std::strerror(errno)),
            "bring the loopback interface up: 'ip link set lo up'"};
}

Answer mosquitto(const Host&) {
    const auto found = find_mosquitto();
    if (found)
        return {Outcome::ok, fmt::format("version {}", found->version)};
    return {Outcome::fail, found.error().message, found.error().hint};
}

Answer programs(const Host& host) {
    std::string missing;
    for (const fs::path* program : {&host.ask.worker_program, &host.ask.peer_program})
        if (::access(program->c_str(), X_OK) != 0)
            missing +=
                fmt::format("{}'{}'", missing.empty() ? "" : ", ", program->filename().string());
    if (missing.empty())
        return {Outcome::ok, "mqworker and mqpeer are there"};
    return {Outcome::fail, fmt::format("{} cannot be run", missing),
            "build or install mqcore as a whole: its programs stand in one folder"};
}

Answer environments(const Host& host) {
    std::string ready, missing;
    for (const OutsideStatus& status : host.ask.environments) {
        std::string& list = status.is_ready ? ready : missing;
        list += (list.empty() ? "" : ", ") + status.name;
        if (!status.detail.empty())
            list += fmt::format(" ({})", status.detail);
    }
    if (!missing.empty())
        return {Outcome::warn, "not ready: " + missing,
                "make them: 'mqcore envs sync'; until then their clients cannot run"};
    return {Outcome::ok, ready.empty() ? "no client needs one" : "ready: " + ready};
}

Answer readable_proc(const Host& host) {
    const auto self = read_text(host.ask.root / "proc/self/status");
    if (!self)
        return {Outcome::warn, self.error().message,
                "mount /proc; without it memory, threads and context switches are not available"};
    if (host.processes.unavailable.contains("top"))
        return {Outcome::warn, host.processes.unavailable.at("top"),
                "remount /proc with hidepid=0, or run as root, to have the busiest others named"};
    return {Outcome::ok, fmt::format("{} processes are visible", host.processes.processes.size())};
}

Answer without(std::string_view what, const support::Error& error) {
    return {Outcome::warn, fmt::format("{} cannot be counted: {}", what, error.message),
            fmt::format("{}{}accept that the metric is not available", error.hint,
                        error.hint.empty() ? "" : "; or ")};
}

Answer perf_events(const Host&) {
    const auto errors = EventCounters(::getpid(), hardware_events()).errors();
    if (errors.empty())
        return {Outcome::ok, "instructions and cycles can be counted, in user and kernel mode"};
    const auto& [name, error] = *errors.begin();
    return without(errors.size() == hardware_events().size() ? "instructions and cycles" : name,
                   error);
}

Answer system_calls(const Host& host) {
    const auto kind = system_call_event(host.ask.root);
    if (!kind)
        return without("a client's calls", kind.error());
    const auto errors = EventCounters(::getpid(), std::span(&*kind, 1)).errors();
    if (!errors.empty())
        return without("a client's calls", errors.at(kind->name));
    return {Outcome::ok, "a client's calls can be counted"};
}

Answer socket_options(const Host& host) {
    const auto scope = read_text(host.ask.root / "proc/sys/kernel/yama/ptrace_scope");
    const auto level = scope ? number_in<int>(*scope).value_or(0) : 0;
    constexpr int kAdminOnly = 2;
    if (level < kAdminOnly || ::geteuid() == 0)
        return {Outcome::ok, "a client's TCP_NODELAY can be read from outside"};
    return {Outcome::warn,
            fmt::format("ptrace_scope is {}: a client's TCP_NODELAY cannot be read", level),
            "'sysctl kernel.yama.ptrace_scope=1', or accept the missing value"};
}

Answer memory(const Host& host) {
    constexpr std::uint64_t kWantedKib = 2 * 1024 * 1024;
    if (!host.facts.memory_kib)
        return {Outcome::warn, host.facts.unavailable.at("memory_kib"), "nothing, if runs work"};
    const std::string seen = fmt::format("{} MiB", *host.facts.memory_kib / 1024);
    if (*host.facts.memory_kib >= kWantedKib)
        return {Outcome::ok, seen};
    return {
        Outcome::warn, seen,
        "receive points at capacity can fill the broker's queue with a gigabyte; leave them out"};
}

Answer condition(const Host& host) {
    const Condition seen = read_condition(host.ask.root);
    if (seen.unavailable.empty())
        return {Outcome::ok, "governor, turbo, frequency, SMT siblings, load and temperature are "
                             "recorded with each run"};
    std::string missing;
    for (const auto& [name, why] : seen.unavailable)
        missing += fmt::format("{}{}: {}", missing.empty() ? "" : "; ", name, why);
    return {Outcome::warn, "not available: " + missing,
            "nothing to do in a virtual machine; elsewhere load the kernel's modules for frequency "
            "and sensors (coretemp, k10temp)"};
}

Answer disk(const Host& host) {
    constexpr std::uint64_t kLeast = 50u << 20, kWanted = 500u << 20;
    fs::path folder = fs::absolute(host.ask.results_folder);
    while (!fs::exists(folder) && folder.has_relative_path())
        folder = folder.parent_path();
    struct statvfs space {};
    if (::statvfs(folder.c_str(), &space) != 0)
        return {Outcome::warn, fmt::format("free space is not known: {}", std::strerror(errno)),
                "check the results folder"};
    const std::uint64_t bytes = space.f_bavail * space.f_frsize;
    const std::string seen = fmt::format("{} MiB free where results go", bytes >> 20);
    if (bytes < kLeast)
        return {Outcome::fail, seen, "free some space or choose another folder with --output"};
    return {bytes < kWanted ? Outcome::warn : Outcome::ok, seen,
            bytes < kWanted ? "enough for a short campaign only" : ""};
}

Answer shared_memory(const Host&) {
    const support::UniqueFd fd(::memfd_create("mqcore-doctor", MFD_CLOEXEC));
    if (fd && ::ftruncate(fd.get(), 4096) == 0)
        return {Outcome::ok, "memory files work"};
    return {Outcome::fail, fmt::format("no memory file: {}", std::strerror(errno)),
            "worker and orchestrator share a page; allow memfd_create in the container's profile"};
}

Answer clock_cost(const Host& host) {
    constexpr int kReads = 100'000;
    const support::Nanoseconds begin = support::now_ns();
    for (int i = 0; i < kReads; ++i)
        (void)support::now_ns();
    const double cost = static_cast<double>(support::now_ns() - begin) / kReads;
    timespec resolution{};
    ::clock_getres(CLOCK_MONOTONIC, &resolution);
    const std::string seen =
        fmt::format("one read costs {:.0f} ns, resolution {} ns, source {}", cost,
                    resolution.tv_nsec, host.facts.clock_source.value_or("unknown"));
    constexpr double kTooDear = 200; // a system call instead of the vDSO
    constexpr long kTooCoarse = 1000;
    if (cost < kTooDear && resolution.tv_sec == 0 && resolution.tv_nsec <= kTooCoarse)
        return {Outcome::ok, seen};
    return {Outcome::warn, seen,
            "the clock is read through the kernel: every message pays for it; choose another clock "
            "source (tsc, kvm-clock)"};
}

Answer other_brokers(const Host& host) {
    const auto count = std::ranges::count_if(host.processes.processes, [](const auto& entry) {
        return entry.second.name == "mosquitto";
    });
    if (count == 0)
        return {Outcome::ok, "none is running"};
    return {Outcome::warn, fmt::format("{} running", count),
            "it does not collide (mqcore uses free ports) but may take CPU time: 'systemctl stop "
            "mosquitto'"};
}

constexpr struct {
    const char* id;
    const char* what;
    Answer (*look)(const Host&);
} kChecks[] = {
    {"programs", "mqcore's own programs", programs},
    {"mosquitto", "the broker", mosquitto},
    {"environments", "language environments of the clients", environments},
    {"physical-cores", "physical cores for the four parties", physical_cores},
    {"cpu-quota", "CPU limit of the control group", cpu_quota},
    {"governor", "frequency governor", governor},
    {"memory", "memory", memory},
    {"clock", "the clock", clock_cost},
    {"open-files", "file descriptors", open_files},
    {"source-ports", "source ports", source_ports},
    {"loopback", "loopback ports", loopback},
    {"shared-memory", "shared memory", shared_memory},
    {"readable-proc", "/proc", readable_proc},
    {"socket-options", "socket options of other processes", socket_options},
    {"perf-events", "performance events", perf_events},
    {"system-calls", "system calls of other processes", system_calls},
    {"condition", "the machine's condition", condition},
    {"disk", "disk space", disk},
    {"other-brokers", "other Mosquitto brokers on this machine", other_brokers},
};

} // namespace

std::string_view name_of(Outcome outcome) {
    constexpr std::string_view kNames[] = {"ok", "warn", "fail"};
    return kNames[static_cast<std::size_t>(outcome)];
}

std::vector<Finding> examine(const DoctorQuestions& questions) {
    const auto topology = read_topology();
    if (!topology)
        return {{"physical-cores", "physical cores for the four parties", Outcome::fail,
                 topology.error().message, "nothing can run without knowing the CPUs"}};
    const Host host{.ask = questions,
                    .topology = *topology,
                    .facts = read_facts(*topology, questions.root),
                    .processes = sample_host(questions.root / "proc")};
    std::vector<Finding> findings;
    for (const auto& check : kChecks) {
        Answer answer = check.look(host);
        findings.push_back({check.id, check.what, answer.outcome, std::move(answer.detail),
                            std::move(answer.mend)});
    }
    return findings;
}

Outcome worst_of(const std::vector<Finding>& findings) {
    Outcome worst = Outcome::ok;
    for (const Finding& finding : findings)
        worst = std::max(worst, finding.outcome);
    return worst;
}

support::Json to_json(const std::vector<Finding>& findings) {
    support::JsonArray array;
    for (const Finding& finding : findings)
        array.push_back(support::JsonObject{{"id", finding.id},
                                            {"what", finding.what},
                                            {"outcome", name_of(finding.outcome)},
                                            {"detail", finding.detail},
                                            {"mend", finding.mend}});
    return array;
}

} // namespace mqcore::machine
