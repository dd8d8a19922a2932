#pragma once
// What this machine is, for the manifest, and why a run on it may not be compared. Every fact may
// be missing, with a reason. No host name, no user, no path: a result file does not say whose it
// is.

#include "machine/topology.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mqcore::machine {

struct MachineFacts {
    std::optional<std::string> cpu_model, kernel, architecture, distribution, clock_source;
    std::optional<unsigned> cores, cpus; // physical and logical, online
    std::optional<bool> has_smt, has_turbo;
    std::map<int, std::string> governors; // by CPU; empty: unavailable["governor"] says why
    std::optional<std::uint64_t> memory_kib;
    std::optional<std::string> hypervisor; // "none" when the CPU says there is none
    std::optional<std::string> container;  // "none" when no sign of one
    std::optional<double> cpu_quota_cores; // of the control group; no value and no reason: no quota
    std::map<std::string, std::string> unavailable;
};

// `root` is where /proc, /sys and /etc are looked for.
MachineFacts read_facts(const Topology& topology, const std::filesystem::path& root = "/");

support::Json to_json(const MachineFacts& facts);

// What the profile of a campaign says about itself.
struct ProfileTerms {
    std::string name;
    bool is_comparable = true; // false: smoke
};

// Why runs under this profile, plan and machine must not be compared with others; empty: they may.
std::vector<std::string> not_comparable_because(const ProfileTerms& profile, const CorePlan& plan,
                                                const MachineFacts& facts);

} // namespace mqcore::machine
