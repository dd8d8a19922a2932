#pragma once
// Going on until the data can bear an answer: after the planned runs, further blocks of the points whose
// ratios are not known well enough. A pure decision; core/campaign/campaign.cpp asks when it has run dry.

#include "campaign/plan.hpp"
#include "support/json.hpp"

#include <span>

namespace mqcore::campaign {

struct Until {
    double width = 0.02;         // of the interval of a ratio: its upper end over its lower, less 1
    std::uint32_t runs_max = 30; // blocks of a point, whatever is known by then
};

// One more block of each point where a ratio of two clients in the point's leading metric has a wider
// interval, or none yet. Pairs of which one client has no valid run are not waited for. `runs` are all
// judged documents so far. Empty: every ratio is known, or the limit is reached.
std::vector<PlannedRun> further_runs(const Plan& plan, std::span<const support::Json> runs,
                                     const Until& until);

} // namespace mqcore::campaign
