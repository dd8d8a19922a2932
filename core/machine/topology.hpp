#pragma once
// Which physical cores this process may use (cpuset, control group, affinity, SMT and offline CPUs
// respected) and which of them each party of a run gets. Reads the machine once, at the start of a
// session; plan_cores() is pure, so that the plan of any machine can be tested on any other.

#include "support/json.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::machine {

struct PhysicalCore {
    std::vector<int> cpus; // its usable logical CPUs (SMT siblings), ascending
    int speed_class = 0;   // higher is faster on machines with unlike cores, else 0
};

struct Topology {
    std::vector<PhysicalCore> cores; // usable, by their first CPU
    unsigned cores_in_machine = 0;   // online ones, usable or not
    unsigned cpus_in_machine = 0;
};

support::Result<Topology> read_topology();

enum class Party { broker, client, peer, orchestrator };
constexpr std::array kParties = {Party::broker, Party::client, Party::peer, Party::orchestrator};
constexpr unsigned kCoresWanted = 4; // one for each party

std::string_view name_of(Party party);

// CPUs by party. Data for the manifest, the pinning and the comparability of every run.
struct CorePlan {
    std::array<std::vector<int>, kParties.size()> cpus; // by Party; never empty
    bool shares_cores = false;
    std::string sharing; // who shares with whom and why, for people; empty: nobody
    std::vector<std::string> not_comparable_because;

    const std::vector<int>& of(Party party) const { return cpus[static_cast<std::size_t>(party)]; }
};

// Four cores and more: one each, the client and the broker on the fastest; the orchestrator gets the
// last choice, which among like cores is the one with CPU 0, where interrupts usually land. Three:
// the peer shares with the orchestrator, which sleeps through the window. Two: the client alone, as
// its cost is what is measured; the broker shares the other with the rest. One: all share.
CorePlan plan_cores(const Topology& topology);

// {"cpus": {"broker": [0, 4], ...}, "shares_cores", "sharing"}
support::Json to_json(const CorePlan& plan);

// "0-3,8": the kernel's way of writing CPU lists.
std::string print_cpus(const std::vector<int>& cpus);

} // namespace mqcore::machine
