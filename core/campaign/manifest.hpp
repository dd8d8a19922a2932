#pragma once
// The manifest of a campaign: who was measured, with what, on what, under which settings. No path of
// this machine, no user, no host name.

#include "campaign/campaign.hpp"
#include "machine/facts.hpp"

namespace mqcore::campaign {

support::Result<support::JsonObject>
new_manifest(const CampaignOptions& options, const machine::MachineFacts& facts,
             const machine::CorePlan& cores, const session::Session& session,
             const std::vector<std::string>& not_comparable_because, const std::string& id,
             const std::string& created);

// The name of each scenario file in the manifest and in the results folder: its own, with its position
// before it where an earlier one has the same.
std::vector<std::string> scenario_names(const std::vector<scenario::Scenario>& scenarios);

// An entry of the manifest's "refused".
support::Json to_json(const Refusal& refusal);

// {"file name": "sha256", …} of a driver's folder and of its host's, the driver's library included.
support::Result<support::JsonObject> hashes_of_driver(const driver::Descriptor& driver);

// The same of the shared libraries that the driver's library is linked to, as they would be loaded now: the
// client library of a native driver is usually one of them.
support::Result<support::JsonObject> hashes_of_linked(const driver::Descriptor& driver);

} // namespace mqcore::campaign
