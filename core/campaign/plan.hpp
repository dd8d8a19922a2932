#pragma once
// What a campaign will do, before it does anything: the runs in their order, and the pairs that are
// refused because the driver lacks what the point needs. Pure.

#include "driver/descriptor.hpp"
#include "scenario/point.hpp"
#include "scenario/profile.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mqcore::campaign {

struct Refusal {
    std::string client, point;
    std::vector<std::string> missing; // what the driver lacks, in words
    bool at_run_time = false;         // only its first run showed it
};

struct PlannedRun {
    std::size_t point = 0;  // index into Plan::points
    std::size_t client = 0; // index into Plan::clients
    std::uint32_t run = 1;  // from 1
};

// An invalid run says nothing about the client, so it is tried once more; both attempts are stored. Under a
// profiler a second one would write over what the first left.
constexpr std::uint32_t attempts_max(bool is_profiled) { return is_profiled ? 1 : 2; }

struct Plan {
    std::vector<scenario::Point> points;
    std::vector<driver::Descriptor> clients;
    std::uint32_t runs_each = 1;
    std::uint64_t seed = 0;
    std::vector<std::vector<std::size_t>>
        able; // by point: the clients that can do it, as the seed draws them
    std::vector<PlannedRun> runs;
    std::vector<Refusal> refusals;
};

// Clients are interleaved in blocks: each point is run by every client before any client runs it again, so
// that a drift of the host spreads over all of them.
Plan make_plan(std::vector<scenario::Point> points, std::vector<driver::Descriptor> clients,
               std::uint32_t runs_each, std::uint64_t seed = 0);

// The runs of one number on a point. The orders of the blocks are a balanced Latin square (Williams, 1949) of
// the clients as the seed draws them: in n blocks of n clients each has every place once, and follows every
// other one equally often when n is even; when it is odd, in 2 n blocks.
std::vector<PlannedRun> block_of(const Plan& plan, std::size_t point, std::uint32_t run);

// An A/A pair: the client once more under another name, with everything else the same. What differs
// between the two is what the campaign cannot tell.
driver::Descriptor control_of(driver::Descriptor client);

// How long the runs of a plan take: their schedules and the usual overhead of a run and a session.
support::Nanoseconds estimate_ns(const Plan& plan, const scenario::Profile& profile);

// The points whose id matches one of the patterns (* and ? as in a shell). A pattern that matches
// nothing is an Error with the nearest id.
support::Result<std::vector<scenario::Point>>
select_points(const std::vector<scenario::Scenario>& scenarios,
              const std::vector<std::string>& patterns);

} // namespace mqcore::campaign
