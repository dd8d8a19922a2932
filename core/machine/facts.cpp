#include "machine/facts.hpp"

#include "machine/condition.hpp"
#include "machine/proc_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <sys/utsname.h>

namespace mqcore::machine {
namespace {

namespace fs = std::filesystem;
using support::Json;
using support::JsonObject;

void read_cpu(const fs::path& root, MachineFacts& facts) {
    const auto info = read_text(root / "proc/cpuinfo");
    if (info)
        for (const char* key : {"model name\t:", "Model\t\t:", "Hardware\t:", "cpu model\t\t:"})
            if (!facts.cpu_model)
                facts.cpu_model = line_after(*info, key);
    if (!facts.cpu_model)
        facts.unavailable["cpu_model"] =
            info ? "/proc/cpuinfo does not name one" : info.error().message;

    // The flag "hypervisor" is set by the virtual machine itself (x86); others show in DMI or the
    // device tree.
    const bool has_flag = info && info->find(" hypervisor") != std::string::npos;
    const auto vendor = read_text(root / "sys/class/dmi/id/sys_vendor");
    const auto product = read_text(root / "sys/class/dmi/id/product_name");
    if (has_flag)
        facts.hypervisor = vendor && product ? *vendor + " " + *product : "unnamed";
    else if (info && info->find("flags\t") != std::string::npos)
        facts.hypervisor = "none";
    else
        facts.unavailable["hypervisor"] = "this kind of CPU does not say";
}

void read_governors(const fs::path& root, const Topology& topology, MachineFacts& facts) {
    std::string why;
    for (const PhysicalCore& core : topology.cores)
        for (const int cpu : core.cpus) {
            const auto governor = read_text(
                root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
            if (governor)
                facts.governors[cpu] = *governor;
            else
                why = governor.error().message;
        }
    if (facts.governors.empty())
        facts.unavailable["governor"] = why_no_frequency(root, why);
}

void read_container(const fs::path& root, MachineFacts& facts) {
    const auto environment = read_text(root / "proc/1/environ");
    if (fs::exists(root / ".dockerenv"))
        facts.container = "docker";
    else if (fs::exists(root / "run/.containerenv"))
        facts.container = "podman";
    else if (environment && environment->find("container=") != std::string::npos)
        facts.container = "unnamed";
    else
        facts.container = "none";
}

// Version 2: "max 100000" or "200000 100000" in microseconds; version 1: two files, -1 is none.
void read_quota(const fs::path& root, MachineFacts& facts) {
    if (const auto text = read_text(root / "sys/fs/cgroup/cpu.max")) {
        const auto quota = number_in<double>(*text);
        const std::size_t space = text->find(' ');
        const auto period =
            space == std::string::npos ? std::nullopt : number_in<double>(text->substr(space + 1));
        if (quota && period)
            facts.cpu_quota_cores = *quota / *period;
        return;
    }
    const auto quota = read_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    const auto period = read_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us");
    const auto used = quota ? number_in<double>(*quota) : std::nullopt;
    const auto every = period ? number_in<double>(*period) : std::nullopt;
    if (used && every && *used > 0)
        facts.cpu_quota_cores = *used / *every;
}

void read_system(const fs::path& root, MachineFacts& facts) {
    utsname name{};
    if (::uname(&name) == 0) {
        facts.kernel = name.release;
        facts.architecture = name.machine;
    }
    const auto release = read_text(root / "etc/os-release");
    if (auto pretty = release ? line_after(*release, "PRETTY_NAME=") : std::nullopt) {
        std::erase(*pretty, '"');
        facts.distribution = *pretty;
    } else {
        facts.unavailable["distribution"] = "/etc/os-release does not name one";
    }
    const auto memory = read_text(root / "proc/meminfo");
    facts.memory_kib = memory ? field_after(*memory, "MemTotal:") : std::nullopt;
    if (!facts.memory_kib)
        facts.unavailable["memory_kib"] = "/proc/meminfo does not say";
    const auto clock =
        read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (clock)
        facts.clock_source = *clock;
    else
        facts.unavailable["clock_source"] = clock.error().message;
}

std::set<std::string> distinct_governors(const MachineFacts& facts) {
    std::set<std::string> names;
    for (const auto& [cpu, name] : facts.governors)
        names.insert(name);
    return names;
}

Json or_null(const auto& value) { return value ? Json(*value) : Json(nullptr); }

} // namespace

MachineFacts read_facts(const Topology& topology, const fs::path& root) {
    MachineFacts facts;
    facts.cores = topology.cores_in_machine;
    facts.cpus = topology.cpus_in_machine;
    facts.has_smt = topology.cpus_in_machine > topology.cores_in_machine;
    read_cpu(root, facts);
    read_governors(root, topology, facts);
    if (const auto turbo = read_turbo(root))
        facts.has_turbo = *turbo;
    else
        facts.unavailable["turbo"] = turbo.error().message;
    read_container(root, facts);
    read_quota(root, facts);
    read_system(root, facts);
    return facts;
}

Json to_json(const MachineFacts& facts) {
    JsonObject governors, unavailable;
    for (const auto& [cpu, name] : facts.governors)
        governors[std::to_string(cpu)] = name;
    for (const auto& [name, why] : facts.unavailable)
        unavailable[name] = why;
    return JsonObject{{"cpu_model", or_null(facts.cpu_model)},
                      {"architecture", or_null(facts.architecture)},
                      {"cores", or_null(facts.cores)},
                      {"cpus", or_null(facts.cpus)},
                      {"smt", or_null(facts.has_smt)},
                      {"turbo", or_null(facts.has_turbo)},
                      {"governors", std::move(governors)},
                      {"memory_kib", or_null(facts.memory_kib)},
                      {"kernel", or_null(facts.kernel)},
                      {"distribution", or_null(facts.distribution)},
                      {"clock_source", or_null(facts.clock_source)},
                      {"hypervisor", or_null(facts.hypervisor)},
                      {"container", or_null(facts.container)},
                      {"cpu_quota_cores", or_null(facts.cpu_quota_cores)},
                      {"unavailable", std::move(unavailable)}};
}

std::vector<std::string> not_comparable_because(const ProfileTerms& profile, const CorePlan& plan,
                                                const MachineFacts& facts) {
    std::vector<std::string> reasons;
    if (!profile.is_comparable)
        reasons.push_back(fmt::format("profile '{}': too short to be compared", profile.name));
    reasons.insert(reasons.end(), plan.not_comparable_because.begin(),
                   plan.not_comparable_because.end());
    if (facts.governors.empty()) {
        const auto why = facts.unavailable.find("governor");
        reasons.push_back(fmt::format("the CPU's frequency governor is not known: {}",
                                      why == facts.unavailable.end() ? "not read" : why->second));
    } else if (const auto names = distinct_governors(facts);
               names != std::set<std::string>{"performance"}) {
        reasons.push_back(fmt::format("the CPU's frequency governor is '{}', not 'performance'",
                                      fmt::join(names, "', '")));
    }
    if (facts.cpu_quota_cores && *facts.cpu_quota_cores < kCoresWanted)
        reasons.push_back(
            fmt::format("the control group allows {:.2g} cores of CPU time, fewer than "
                        "the four parties may use",
                        *facts.cpu_quota_cores));
    return reasons;
}

} // namespace mqcore::machine
