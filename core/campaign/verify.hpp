#pragma once
// Computing a results folder again: every verdict and metric from the raw counts and histograms of its
// files alone, and whether all planned runs are there. Pure.

#include "campaign/store.hpp"

#include <string>
#include <vector>

namespace mqcore::campaign {

// One thing that is not as the raw data say.
struct Difference {
    std::string where; // "paho-c.json: pub_qos1_max run 2"
    std::string what;  // "metric rate", "check no_loss", "status"
    std::string stored, computed;
};

struct Verification {
    std::size_t runs = 0;   // documents judged again
    std::size_t values = 0; // compared in them
    std::vector<Difference> differences;
    // Of the campaign as a whole: runs that are missing or nobody planned, points that are not the manifest's.
    std::vector<std::string> faults;
    // No fault: rows of the table that the campaign's mqcore did not have yet, runs that an interruption cost.
    std::vector<std::string> notes;
    bool is_sound() const { return differences.empty() && faults.empty(); }
};

Verification verify(const StoredCampaign& campaign);

} // namespace mqcore::campaign
