#pragma once
// The table of checks: one row a rule. A row's function runs the driver as far as it needs and judges
// its own rule alone, so that a driver that breaks one rule fails one check.

#include "conformance/bench.hpp"

#include <span>

namespace mqcore::conformance {

inline constexpr std::string_view kGroups[] = {"static", "table", "life",   "source",
                                               "sink",   "wire",  "claims", "behaviour"};

struct Verdict {
    Outcome outcome = Outcome::pass;
    std::string detail;
};

// file: the library's file is read. library: a worker opens it and looks at its table. worker: a worker hosts the driver. network: and the driver
// talks to a server, which the null clients of the harness do not.
enum class Place { file, library, worker, network };

struct Check {
    std::string_view group; // what it is about: one of kGroups
    std::string_view id;
    std::string_view says;
    std::string_view needs; // id of the check that must have passed; empty: none
    Place place = Place::worker;
    Verdict (*run)(Bench& bench);
};

std::span<const Check> table_checks();   // driver.toml, the library, its table
std::span<const Check> life_checks();    // create, connect, drive without messages, disconnect
std::span<const Check> traffic_checks(); // messages both ways
std::span<const Check> claim_checks();   // features that not every driver claims

} // namespace mqcore::conformance
