#pragma once
// `mqcore doctor`: what this machine lacks, found before a run instead of in it. One table of
// checks; each answers with what it saw and how to mend it. Runs in well under a second and starts
// nothing but `mosquitto -h`.

#include "machine/facts.hpp"

#include <cstdint>

namespace mqcore::machine {

enum class Outcome { ok, warn, fail };

std::string_view name_of(Outcome outcome);

struct Finding {
    std::string id;   // "physical-cores"
    std::string what; // what was looked at, for people
    Outcome outcome = Outcome::ok;
    std::string detail; // what was seen
    std::string mend;   // what to do; empty when ok
};

// Something only the caller can look at: a language environment, a driver folder.
struct OutsideStatus {
    std::string name;
    bool is_ready = false;
    std::string detail;
};

struct DoctorQuestions {
    std::filesystem::path worker_program, peer_program, results_folder;
    std::uint32_t connections = 1; // of the largest point that is planned
    std::vector<OutsideStatus> environments;
    std::filesystem::path root = "/"; // where /proc, /sys and /etc are looked for
};

std::vector<Finding> examine(const DoctorQuestions& questions);

// The worst of them: fail means that a run cannot start here.
Outcome worst_of(const std::vector<Finding>& findings);

support::Json to_json(const std::vector<Finding>& findings);

} // namespace mqcore::machine
