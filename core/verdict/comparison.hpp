#pragma once
// Two clients on one point, metric by metric: the ratio of the second to the first with its interval,
// and what that allows to be said. Works on cells; pure. docs/measuring.md tells people about it.

#include "verdict/cell.hpp"
#include "verdict/context.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::verdict {

enum class Relation {
    unknown,           // no interval: `why` says what is missing
    lower,             // the second's value is lower than the first's
    higher,            // or higher
    indistinguishable, // the interval holds 1
    cannot_tell        // no larger than what the campaign sees between a client and itself
};

// Blocks: the runs of one number belong together, since every client ran once in each block and what the
// host did meanwhile is in both; log ratios are taken block by block. Apart: two campaigns.
enum class Pairing { blocks, apart };

struct Comparison {
    std::string metric;
    std::optional<double> ratio; // geometric mean over the blocks, or of the two sides
    std::optional<Interval> interval;
    std::size_t runs = 0; // blocks that hold a valid run of both, or the smaller side's valid runs
    Relation relation = Relation::unknown;
    std::string why;
};

Comparison compare(const Cell& first, const Cell& second, std::string_view metric, Pairing pairing);

// What an A/A pair allows: when a client differs from itself, nothing that its interval reaches can be
// told from that. `control` compares the two names of one client on the same point and metric.
void temper(Comparison& comparison, const Comparison& control);

bool is_told(const Comparison& comparison); // lower or higher
// "faster", "slower", "less", "more" of the second, or "indistinguishable", "cannot_tell", "unknown".
std::string_view word_of(const Comparison& comparison);
// 1: the second is better, -1: it is worse, 0: neither, or the metric has no better.
int gain_of(const Comparison& comparison);
// "faster" and "slower" are said of rates and delays, "more" and "less" of everything else.
bool is_speed(const MetricEntry& metric);

// Best and worst place that a cell may hold among the others: 1 + those that are certainly better, and
// all but those that are certainly worse. {2, 4} is "2-4".
struct Rank {
    std::size_t best = 1, worst = 1;
    bool operator==(const Rank&) const = default;
};

// An A/A pair among the cells of one point.
struct ControlPair {
    const Cell* client = nullptr;
    const Cell* control = nullptr;
};
std::vector<ControlPair> controls_among(std::span<const Cell* const> cells,
                                        std::span<const Control> controls);

// Ranks of the valid cells of one point that have the metric, which has a direction; controls are left out.
// Empty when not one pair of them could be compared.
std::map<const Cell*, Rank> ranks_of(std::span<const Cell* const> cells, std::string_view metric,
                                     std::span<const ControlPair> controls);

// The first metric of a point's load, which ranks, decides when there are blocks enough, and shows its
// interval: the rate at capacity, the processor time at a fixed rate, the time to connect when idle.
std::string_view leading_metric(const scenario::Point& point);

} // namespace mqcore::verdict
