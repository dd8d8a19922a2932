#pragma once
// Going on with a campaign that was interrupted or killed: what must be the same as when it began, and
// what is already done. Pure.

#include "support/json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mqcore::campaign {

// What must not change between the sessions of a campaign, taken from a manifest: mqcore's programs, the
// scenarios, the profile, the clients' files, environments and options, the broker, the machine and the
// cores of each party.
support::JsonObject frozen_identity(const support::Json& manifest);

// "clients.paho.environment.lock: 0a1b2c3d4e5f… → nothing", one line a difference. Empty: the same.
std::vector<std::string> changes_between(const support::Json& was, const support::Json& is);

// What is stored of one planned run.
struct Attempted {
    std::uint32_t attempts = 0;
    bool is_settled = false; // the last attempt was not invalid
};
using RunKey = std::tuple<std::string, std::string, std::uint64_t>; // point, client, run
std::map<RunKey, Attempted> attempted(const std::vector<support::Json>& runs);

} // namespace mqcore::campaign
