#include "campaign/until.hpp"

#include "verdict/comparison.hpp"

#include <algorithm>

namespace mqcore::campaign {
namespace {

bool is_known(const verdict::Comparison& pair, double width) {
    if (pair.interval)
        return pair.interval->high <= pair.interval->low * (1 + width);
    return pair.runs == 0; // the two do not compare, however often they run
}

bool needs_more(std::span<const verdict::Cell> cells, const scenario::Point& point, double width) {
    for (auto first = cells.begin(); first != cells.end(); ++first)
        for (auto second = first + 1; second != cells.end(); ++second)
            if (!is_known(verdict::compare(*first, *second, verdict::leading_metric(point),
                                           verdict::Pairing::blocks),
                          width))
                return true;
    return false;
}

} // namespace

std::vector<PlannedRun> further_runs(const Plan& plan, std::span<const support::Json> runs,
                                     const Until& until) {
    std::vector<PlannedRun> further;
    for (std::size_t index = 0; index < plan.points.size(); ++index) {
        const scenario::Point& point = plan.points[index];
        std::vector<support::Json> of_point;
        std::ranges::copy_if(runs, std::back_inserter(of_point), [&](const support::Json& run) {
            return support::text_or(run, "point", "") == point.id;
        });
        std::uint64_t blocks = 0;
        for (const support::Json& run : of_point)
            blocks = std::max(blocks, support::unsigned_or(run, "run", 0));
        if (blocks >= until.runs_max ||
            !needs_more(verdict::cells_of(of_point), point, until.width))
            continue;
        std::ranges::copy(block_of(plan, index, static_cast<std::uint32_t>(blocks) + 1),
                          std::back_inserter(further));
    }
    return further;
}

} // namespace mqcore::campaign
