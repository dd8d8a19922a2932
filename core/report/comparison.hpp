#pragma once
// `mqcore compare` as text: for people, for a web page, and for programs.

#include "campaign/compare.hpp"
#include "report/table.hpp"

#include <string>

namespace mqcore::report {

// A warning a line, then a row for each point and metric, then how often which verdict was given.
std::string comparison_table(const campaign::CampaignComparison& comparison,
                             const TableStyle& style);
std::string comparison_csv(const campaign::CampaignComparison& comparison);
support::Json comparison_json(const campaign::CampaignComparison& comparison);

} // namespace mqcore::report
