#include "machine/topology.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <hwloc.h>
#include <memory>
#include <sched.h>

namespace mqcore::machine {
namespace {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;
using HwlocBitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

std::vector<int> cpus_in(hwloc_const_bitmap_t set) {
    std::vector<int> cpus;
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
        cpus.push_back(cpu);
    return cpus;
}

// What the control group, the cpuset and the affinity of this process leave.
HwlocBitmap usable_cpus(hwloc_topology_t topology) {
    HwlocBitmap usable(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
    HwlocBitmap bound(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) == 0)
        hwloc_bitmap_and(usable.get(), usable.get(), bound.get());
    return usable;
}

int speed_class_of(hwloc_topology_t topology, hwloc_const_bitmap_t cpus) {
    const int kind = hwloc_cpukinds_get_by_cpuset(topology, cpus, 0);
    int efficiency = 0;
    if (kind < 0 || hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr,
                                            &efficiency, nullptr, nullptr, 0) != 0)
        return 0;
    return std::max(efficiency, 0); // -1: the kinds cannot be ordered
}

// Without a usable description of the machine each logical CPU counts as a core.
support::Result<Topology> topology_by_affinity() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        return support::Error{
            support::ErrorCode::host,
            fmt::format("cannot read this process's CPUs: {}", std::strerror(errno)),
            {}};
    Topology result;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set))
            result.cores.push_back({.cpus = {cpu}});
    result.cores_in_machine = result.cpus_in_machine = static_cast<unsigned>(result.cores.size());
    return result;
}

// Best first. The core with CPU 0 is the last of its class: interrupts and the kernel's own work
// land there more than elsewhere.
std::vector<PhysicalCore> by_preference(std::vector<PhysicalCore> cores) {
    const auto has_cpu_0 = [](const PhysicalCore& core) { return core.cpus.front() == 0; };
    std::ranges::stable_sort(cores, [&](const PhysicalCore& a, const PhysicalCore& b) {
        if (a.speed_class != b.speed_class)
            return a.speed_class > b.speed_class;
        return !has_cpu_0(a) && has_cpu_0(b);
    });
    return cores;
}

// Which core of the preferred ones each party gets, by the number of cores there are. The rows are
// in the order of Party: broker, client, peer, orchestrator; -1 is the last core.
struct Sharing {
    std::array<int, kParties.size()> core;
    std::string_view words;
};
constexpr Sharing kSharing[] = {
    {{0, 0, 0, 0}, "all parties share one core"},
    {{1, 0, 1, 1},
     "the client has a core of its own, since its cost is what is measured; broker, peer and "
     "orchestrator share the other"},
    {{1, 0, 2, 2},
     "client and broker have a core each; the peer shares with the orchestrator, which sleeps "
     "through the window"},
    {{1, 0, 2, -1}, ""},
};

} // namespace

std::string_view name_of(Party party) {
    constexpr std::string_view kNames[] = {"broker", "client", "peer", "orchestrator"};
    return kNames[static_cast<std::size_t>(party)];
}

support::Result<Topology> read_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        return topology_by_affinity();
    const HwlocTopology topology(raw);
    // Disallowed CPUs are kept for the count of what the machine has; usable_cpus() takes them out.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(raw) != 0)
        return topology_by_affinity();

    const HwlocBitmap usable = usable_cpus(raw);
    const int by_core = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
    const hwloc_obj_type_t type = by_core > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    Topology result;
    result.cpus_in_machine =
        static_cast<unsigned>(std::max(hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU), 0));
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(raw, type, core));) {
        ++result.cores_in_machine;
        const HwlocBitmap mine(hwloc_bitmap_alloc());
        hwloc_bitmap_and(mine.get(), core->cpuset, usable.get());
        if (!hwloc_bitmap_iszero(mine.get()))
            result.cores.push_back(
                {.cpus = cpus_in(mine.get()), .speed_class = speed_class_of(raw, mine.get())});
    }
    if (result.cores.empty())
        return topology_by_affinity();
    std::ranges::sort(result.cores, {}, [](const PhysicalCore& core) { return core.cpus.front(); });
    return result;
}

CorePlan plan_cores(const Topology& topology) {
    const std::vector<PhysicalCore> cores = by_preference(topology.cores);
    const std::size_t count = std::min<std::size_t>(cores.size(), kCoresWanted);
    const Sharing& sharing = kSharing[count - 1];
    CorePlan plan;
    for (const Party party : kParties) {
        const auto index = static_cast<std::size_t>(party);
        const int core = sharing.core[index];
        plan.cpus[index] =
            core < 0 ? cores.back().cpus : cores[static_cast<std::size_t>(core)].cpus;
    }
    plan.shares_cores = count < kCoresWanted;
    plan.sharing = sharing.words;
    if (plan.shares_cores)
        plan.not_comparable_because.push_back(
            fmt::format("{} of the 4 physical cores that the four parties need: {}", cores.size(),
                        sharing.words));
    return plan;
}

support::Json to_json(const CorePlan& plan) {
    support::JsonObject cpus;
    for (const Party party : kParties)
        cpus[name_of(party)] = support::JsonArray(plan.of(party).begin(), plan.of(party).end());
    return support::JsonObject{
        {"cpus", std::move(cpus)}, {"shares_cores", plan.shares_cores}, {"sharing", plan.sharing}};
}

std::string print_cpus(const std::vector<int>& cpus) {
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
            ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[first]);
        if (last > first)
            text += fmt::format("-{}", cpus[last]);
        first = last + 1;
    }
    return text;
}

} // namespace mqcore::machine
