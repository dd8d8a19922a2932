#include "verdict/checks.hpp"

#include "support/text.hpp"
#include "verdict/accounts.hpp"

#include <fmt/format.h>

namespace mqcore::verdict {

const std::vector<CheckEntry>& checks() {
    static const std::vector<CheckEntry> kEntries = [] {
        std::vector<CheckEntry> all;
        for (auto* rows : {checks_of_parties, checks_of_counts, checks_of_delivery, checks_of_load,
                           checks_of_surroundings})
            for (CheckEntry& entry : rows())
                all.push_back(std::move(entry));
        return all;
    }();
    return kEntries;
}

Finding pass(std::string detail) { return {Outcome::pass, std::move(detail), {}, Status::valid}; }

Finding unavailable(std::string detail) {
    return {Outcome::unavailable, std::move(detail), {}, Status::valid};
}

Finding not_applicable(std::string detail) {
    return {Outcome::not_applicable, std::move(detail), {}, Status::valid};
}

Finding blame(Party party, std::string detail) {
    return {Outcome::fail, std::move(detail), party,
            party == Party::client ? Status::not_sustained : Status::invalid};
}

std::string of_offer(std::uint64_t done, std::uint64_t asked) {
    return fmt::format("{} of {} ({})", support::format_count(done), support::format_count(asked),
                       percent(share_of(done, asked)));
}

} // namespace mqcore::verdict
