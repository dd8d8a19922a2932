#pragma once
// The table in words: for `mqcore explain ID` and for the methodology page.

#include "scenario/point.hpp"
#include "support/result.hpp"
#include "verdict/table.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::verdict {

// Several lines about a status, a check, a flag, a metric, or a point of the loaded scenarios. An
// unknown id is wrong input, with the nearest known one as the hint.
support::Result<std::string> explain(std::string_view id,
                                     std::span<const scenario::Scenario> scenarios);

// Every id that explain() knows, in the table's order, points last.
std::vector<std::string> explainable_ids(std::span<const scenario::Scenario> scenarios);

// "2,000 messages/s, 1,000 topics", "capacity, 64 in flight", "idle".
std::string load_in_words(const scenario::Point& point);
// "µs, lower is better"
std::string unit_and_direction(const MetricEntry& entry);
// "256 B", "packets of 127 B, 128 B"
std::string payload_in_words(const scenario::Point& point);

// Statuses, checks, flags and metrics as Markdown; with scenarios also their points.
std::string methodology_markdown(std::span<const scenario::Scenario> scenarios = {});

} // namespace mqcore::verdict
