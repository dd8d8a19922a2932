#pragma once
// Starts one program with everything in force before its first instruction: CPUs, descriptors,
// environment, a session of its own, and death with its parent. For child.cpp only.

#include "support/result.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace mqcore::session {

struct SpawnPlan {
    std::string program;                  // a path; no search
    std::vector<std::string> arguments;   // without the program itself
    std::vector<std::string> environment; // "NAME=value", all of it
    std::vector<int> cpus;                // empty: as the parent
    int output_descriptor = -1;           // becomes 1 and 2; 0 is /dev/null
    int control_descriptor = -1;          // becomes 3
    int page_descriptor = -1;             // becomes 4
    bool is_traceable = false;            // by any process of the same user, see spawn.cpp
};

support::Result<pid_t> spawn(const SpawnPlan& plan);

} // namespace mqcore::session
