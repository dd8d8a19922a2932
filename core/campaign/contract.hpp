#pragma once
// What `mqcore check-driver` found, kept for campaigns to come: one small file a driver, named by the hash
// of all its files, so that a driver that was changed counts as never checked. In mqcore/checks of
// XDG_DATA_HOME, which is ~/.local/share.

#include "driver/descriptor.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

#include <string>
#include <vector>

namespace mqcore::campaign {

// Replaces what was kept of this driver. breaches: ids of the checks that failed; empty: it conforms. A working
// copy of a library is not kept: its content is no file of the driver.
support::Result<void> keep_check(const driver::Descriptor& driver,
                                 const std::vector<std::string>& breaches);

// {"outcome": "kept" | "broken" | "unchecked", "breaches": [id]} for the manifest; files as in
// hashes_of_driver(). A record that cannot be read, or that another version of mqcore wrote, counts as none.
support::Json contract_of(const driver::Descriptor& driver, const support::JsonObject& files);

} // namespace mqcore::campaign
