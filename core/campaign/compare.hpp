#pragma once
// Comparing stored campaigns, or clients within one: which rows there are, and what does not compare at
// all. The arithmetic is verdict/comparison.hpp. Pure.

#include "campaign/store.hpp"
#include "verdict/comparison.hpp"

#include <string>
#include <vector>

namespace mqcore::campaign {

struct ComparedPair {
    std::string point, first, second; // clients; the same name when two campaigns are compared
    verdict::Number first_value, second_value;
    verdict::Comparison comparison; // of the second to the first
    bool is_lost = false;           // the first client's runs were valid, the second's are not
};

struct CampaignComparison {
    std::string first, second;         // what is compared: ids of campaigns, or of clients
    std::vector<std::string> warnings; // what a reader must know first
    std::vector<ComparedPair> pairs;   // by point, client and metric
};

struct CompareRequest {
    std::vector<std::string> clients; // in one campaign: the first is compared with each other one
    std::vector<std::string> metrics = {"rate", "cpu_us_per_message", "rss_peak_kib",
                                        "transit_p50_us", "transit_p99_us"};
    bool is_anyway = false; // also what is labelled as not comparable, with a warning
};

// Clients of one campaign, block by block.
support::Result<CampaignComparison> compare_clients(const StoredCampaign& campaign,
                                                    const CompareRequest& request);

// The clients that both campaigns have, controls left out, or those that are named. Refused for another machine, broker,
// profile or placement: nothing makes such numbers comparable. A point that is another one in the
// second campaign compares to nothing, and its rows say so.
support::Result<CampaignComparison> compare_campaigns(const StoredCampaign& first,
                                                      const StoredCampaign& second,
                                                      const CompareRequest& request);

// The second is worse, with an interval that excludes chance, and by more than `share` (0.05: a ratio
// above 1.05, or below 1 / 1.05 where higher is better); or its runs are not valid any more.
std::vector<const ComparedPair*> slower_than(const CampaignComparison& comparison, double share);

} // namespace mqcore::campaign
