#include "campaign/plan.hpp"

#include "support/file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

namespace mqcore::campaign {
namespace {

// What a run takes beyond its schedule (its document says it in `overhead_ns`: half a second, more for slow
// interpreters), and what a session takes before its first: mqcore's own cost and up to four ceilings.
constexpr support::Nanoseconds kRunOverhead = 1'500 * support::kMillisecond;
constexpr support::Nanoseconds kSessionOverhead = 10 * support::kSecond;

// A client's place in the first block of a point, as text to sort by. A hash instead of a random number:
// every machine and library draws the same, and a client more or less leaves the others in their order.
std::string place_of(const driver::Descriptor& client, const scenario::Point& point,
                     std::uint64_t seed) {
    return support::sha256(fmt::format("{} {} {}", seed, point.id, client.id));
}

} // namespace

Plan make_plan(std::vector<scenario::Point> points, std::vector<driver::Descriptor> clients,
               std::uint32_t runs_each, std::uint64_t seed) {
    Plan plan{.points = std::move(points),
              .clients = std::move(clients),
              .runs_each = runs_each,
              .seed = seed,
              .able = {},
              .runs = {},
              .refusals = {}};
    for (std::size_t point = 0; point < plan.points.size(); ++point) {
        std::vector<std::size_t> able;
        for (std::size_t client = 0; client < plan.clients.size(); ++client) {
            auto missing =
                scenario::missing_capabilities(plan.points[point], plan.clients[client].claims);
            if (missing.empty())
                able.push_back(client);
            else
                plan.refusals.push_back(
                    {plan.clients[client].id, plan.points[point].id, std::move(missing), false});
        }
        std::ranges::sort(able, {}, [&](std::size_t client) {
            return place_of(plan.clients[client], plan.points[point], seed);
        });
        plan.able.push_back(std::move(able));
        for (std::uint32_t run = 1; run <= runs_each; ++run)
            std::ranges::copy(block_of(plan, point, run), std::back_inserter(plan.runs));
    }
    return plan;
}

std::vector<PlannedRun> block_of(const Plan& plan, std::size_t point, std::uint32_t run) {
    const std::vector<std::size_t>& able = plan.able[point];
    const std::size_t count = able.size(), row = run - 1;
    std::vector<PlannedRun> block;
    for (std::size_t place = 0; place < count; ++place) {
        // 0, 1, -1, 2, -2, …: each step between neighbours is another one. An odd number of clients has every
        // second step alone, and the others in the mirror image.
        const std::size_t step = (place + 1) / 2;
        const bool is_forward = (place % 2 == 1) != (count % 2 == 1 && row / count % 2 == 1);
        const std::size_t index = (row + (is_forward ? step : count - step)) % count;
        block.push_back({.point = point, .client = able[index], .run = run});
    }
    return block;
}

driver::Descriptor control_of(driver::Descriptor client) {
    client.id += "#control";
    return client;
}

support::Nanoseconds estimate_ns(const Plan& plan, const scenario::Profile& profile) {
    const support::Nanoseconds each =
        profile.warmup_ns + profile.window_ns + profile.drain_ns + kRunOverhead;
    return plan.runs.empty() ? 0 : kSessionOverhead + plan.runs.size() * each;
}

support::Result<std::vector<scenario::Point>>
select_points(const std::vector<scenario::Scenario>& scenarios,
              const std::vector<std::string>& patterns) {
    std::vector<scenario::Point> points;
    std::vector<std::string> ids;
    for (const scenario::Scenario& scenario : scenarios)
        for (const scenario::Point& point : scenario.points) {
            points.push_back(point);
            ids.push_back(point.id);
        }
    if (patterns.empty())
        return points;

    const auto matches = [](const std::string& pattern, const std::string& id) {
        return ::fnmatch(pattern.c_str(), id.c_str(), 0) == 0;
    };
    for (const std::string& pattern : patterns)
        if (std::ranges::none_of(ids,
                                 [&](const std::string& id) { return matches(pattern, id); })) {
            const auto close = support::nearest(pattern, ids);
            return support::Error{support::ErrorCode::wrong_input,
                                  fmt::format("no point matches '{}'", pattern),
                                  close ? fmt::format("did you mean '{}'?", *close)
                                        : "`mqcore list` shows all points"};
        }
    std::erase_if(points, [&](const scenario::Point& point) {
        return std::ranges::none_of(
            patterns, [&](const std::string& pattern) { return matches(pattern, point.id); });
    });
    return points;
}

} // namespace mqcore::campaign
