#pragma once
// The rows of the table's checks, by what they look at, and what their functions share. For the room
// itself; everybody else reads the table (table.hpp).

#include "verdict/table.hpp"

#include <string>
#include <vector>

namespace mqcore::verdict {

std::vector<CheckEntry> checks_of_parties();      // they carried the run out
std::vector<CheckEntry> checks_of_counts();       // the broker confirms what they say
std::vector<CheckEntry> checks_of_delivery();     // what became of the messages
std::vector<CheckEntry> checks_of_load();         // the point was held
std::vector<CheckEntry> checks_of_surroundings(); // nobody else was the limit

Finding pass(std::string detail);
Finding unavailable(std::string detail);
Finding not_applicable(std::string detail);
// A fault of the client is a finding about it (not_sustained); anybody else's spoils the run (invalid).
Finding blame(Party party, std::string detail);

// "15,000 of 16,000 (93.8 %)"
std::string of_offer(std::uint64_t done, std::uint64_t asked);

} // namespace mqcore::verdict
